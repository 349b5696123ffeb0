import { hash } from "node:crypto";
import { clusterType, endpointType, listenerType, routeType, type Variant } from "@istiod/xds-server";
import { type Channel, decodeResponse, encodeRequest, endpointsOf, openChannel, type ReceivedResource, type ReceivedResponse, routesOf, type Target, type WireRequest } from "@istiod/xds-server/testing";
import { BackOff } from "./back-off.js";
import { intern } from "./intern.js";
import { References } from "./references.js";

export interface SimulatedProxyOptions {
  readonly target: Target;
  readonly variant: Variant;
  /** An encoded `envoy.config.core.v3.Node`. */
  readonly node: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether a digest of each resource's bytes is kept, to compare what proxies have. Default false: digests cost more than all else. */
  readonly digests?: boolean;
  /** From 0 to below 1; for the waits before it connects again. */
  readonly random?: () => number;
  readonly events?: ProxyEvents;
}

export interface ProxyEvents {
  /** A response came; gives the reason for which it is refused, undefined to accept it. */
  readonly response?: (response: ReceivedResponse) => string | undefined;
  /** A request was handed to the transport. @param answer whether it is an ACK or NACK @param bytes with the gRPC prefix */
  readonly sent?: (bytes: number, answer: boolean) => void;
  /** It has an answer for each type that it needs, for the first time on this stream. */
  readonly complete?: () => void;
  /** The server, or the network, ended the stream. */
  readonly broken?: (reason: string) => void;
}

interface TypeState {
  /** Whether a request for the type went out, and a response came, on this stream. */
  asked: boolean;
  answered: boolean;
  nonce: string;
  /** State-of-the-world: the version accepted last. */
  version: string;
  /** Delta: versions by name. */
  readonly held: Map<string, string>;
  readonly digests: Map<string, string>;
}

const types = [clusterType, endpointType, listenerType, routeType];
/** Which type's names come from which. */
const referring: Readonly<Record<string, string>> = { [endpointType]: clusterType, [routeType]: listenerType };
const grpcPrefix = 5;

/**
 * A proxy as a server sees it, cheap enough for thousands in a process: it subscribes in Envoy's order — clusters, the endpoints of those
 * that want them, then listeners, then the routes that those name —, answers every response, and knows names and versions but keeps no
 * resource. A stream that breaks is opened again after Envoy's wait, with what is held.
 */
export class SimulatedProxy {
  readonly #options: SimulatedProxyOptions;
  readonly #types = new Map<string, TypeState>();
  readonly #references = new Map([endpointType, routeType].map((type) => [type, new References()]));
  readonly #backOff: BackOff;
  /** Names of endpoints that have not come yet; listeners are not asked for before. */
  #warming = new Set<string>();
  #channel: Channel | undefined;
  #timer: NodeJS.Timeout | undefined;
  #first = true;
  #complete = false;
  #responses = 0;
  readonly #fences = new Map<string, { readonly resolve: () => void; readonly reject: (error: Error) => void }>();
  #fencesMade = 0;

  constructor(options: SimulatedProxyOptions) {
    this.#options = options;
    this.#backOff = new BackOff(options.random);
    for (const type of types) this.#types.set(type, { asked: false, answered: false, nonce: "", version: "", held: new Map(), digests: new Map() });
  }

  /** Whether each type that it needs was answered on this stream. */
  get complete(): boolean {
    return this.#complete;
  }

  get connected(): boolean {
    return this.#channel !== undefined;
  }

  /** Names subscribed to, or held where it asks for all. */
  names(typeUrl: string): ReadonlySet<string> {
    const references = this.#references.get(typeUrl);
    return new Set(references === undefined ? this.#type(typeUrl).held.keys() : references.names());
  }

  /** Delta: versions of what it has. */
  versions(typeUrl: string): ReadonlyMap<string, string> {
    return this.#type(typeUrl).held;
  }

  /** Digests of what it has, if they are kept. */
  digests(typeUrl: string): ReadonlyMap<string, string> {
    return this.#type(typeUrl).digests;
  }

  /** Opens a stream. One that held something before asks for all types at once, and tells what it has. */
  connect(): void {
    this.drop();
    const { target, variant, headers } = this.#options;
    const again = types.filter((type) => this.#type(type).asked);
    for (const type of this.#types.values()) Object.assign(type, { asked: false, answered: false, nonce: "" });
    this.#first = true;
    this.#complete = false;
    const channel: Channel = openChannel(
      target,
      variant,
      {
        message: (message) => this.#channel === channel && this.#receive(message),
        ended: (error) => this.#channel === channel && this.#ended(error?.message ?? "ended with status OK"),
      },
      headers && { headers },
    );
    this.#channel = channel;
    for (const type of again.length === 0 ? [clusterType] : again) this.#ask(type);
  }

  /** Drops the stream and stays away until `connect`. */
  drop(): void {
    clearTimeout(this.#timer);
    const channel = this.#channel;
    this.#channel = undefined;
    channel?.cancel();
    this.#forget("the stream was dropped");
  }

  /** Stops or resumes reading. */
  pause(paused: boolean): void {
    this.#channel?.pause(paused);
  }

  /** Resolves when the server owes nothing: a type that nobody serves is answered after all that was due. Rejects if the stream ends. */
  async settled(): Promise<void> {
    let known: number;
    do {
      known = this.#responses;
      const typeUrl = `fence/${this.#fencesMade++}`;
      await new Promise<void>((resolve, reject) => {
        if (this.#channel === undefined) return reject(new Error("there is no stream"));
        this.#fences.set(typeUrl, { resolve, reject });
        this.#send({ typeUrl });
      });
    } while (this.#responses > known);
  }

  #type(typeUrl: string): TypeState {
    const found = this.#types.get(typeUrl);
    if (found === undefined) throw new RangeError(`${typeUrl} is not a type that a simulated proxy asks for`);
    return found;
  }

  #ended(reason: string): void {
    this.#channel = undefined;
    this.#timer = setTimeout(() => this.connect(), this.#backOff.next());
    this.#forget(reason);
    this.#options.events?.broken?.(reason);
  }

  #forget(reason: string): void {
    for (const { reject } of this.#fences.values()) reject(new Error(reason));
    this.#fences.clear();
  }

  #receive(message: Uint8Array): void {
    const response = decodeResponse(this.#options.variant, message);
    const type = this.#types.get(response.typeUrl);
    if (type === undefined) {
      this.#fences.get(response.typeUrl)?.resolve();
      this.#fences.delete(response.typeUrl);
      return;
    }
    this.#backOff.reset();
    this.#responses++;
    type.nonce = response.nonce;
    type.answered = true;
    const error = this.#options.events?.response?.(response);
    if (error === undefined) {
      type.version = response.version;
      this.#apply(response, type);
    }
    this.#send({ typeUrl: response.typeUrl, nonce: type.nonce, error, ...this.#state(response.typeUrl, type) }, true);
    if (error === undefined) this.#follow(response.typeUrl);
    if (!this.#complete && this.#type(listenerType).asked && types.every((each) => this.#type(each).answered || !this.#type(each).asked)) {
      this.#complete = true;
      this.#options.events?.complete?.();
    }
  }

  #apply(response: ReceivedResponse, { held, digests }: TypeState): void {
    const { variant, digests: keepDigests = false } = this.#options;
    const { typeUrl } = response;
    const isFull = variant === "sotw" && !(typeUrl in referring);
    const names = this.#references.get(typeUrl);
    // What is no longer asked for is ignored.
    const resources = names === undefined ? response.resources : response.resources.filter(({ name }) => names.has(name));
    if (isFull) digests.clear();
    for (const { name, version, bytes } of resources) {
      if (variant === "delta") held.set(intern(name), intern(version));
      if (keepDigests) digests.set(intern(name), intern(hash("sha1", bytes, "base64")));
      if (typeUrl === endpointType) this.#warming.delete(name);
    }
    for (const name of response.removed) {
      held.delete(name);
      digests.delete(name);
      if (typeUrl === endpointType) this.#warming.delete(name);
    }
    if (typeUrl === clusterType) this.#refer(endpointType, endpointsIn, isFull, response);
    if (typeUrl === listenerType) this.#refer(routeType, routesIn, isFull, response);
  }

  /** Notes which names of another type the resources of a response refer to. */
  #refer(typeUrl: string, read: (resource: ReceivedResource) => readonly string[], isFull: boolean, { resources, removed }: ReceivedResponse): void {
    const references = this.#references.get(typeUrl);
    if (isFull) references?.replace(new Map(resources.map((resource) => [intern(resource.name), read(resource)] as const).filter(([, names]) => names.length > 0)));
    else for (const resource of resources) references?.set(intern(resource.name), read(resource));
    for (const name of removed) references?.set(name, []);
  }

  /** Subscribes to what is now referred to, and asks for listeners once the first endpoints are there. */
  #follow(typeUrl: string): void {
    for (const [referred, from] of Object.entries(referring)) if (from === typeUrl) this.#subscribe(referred);
    if (!this.#type(listenerType).asked && this.#warming.size === 0) this.#ask(listenerType);
  }

  #subscribe(typeUrl: string): void {
    const type = this.#type(typeUrl);
    const { added = [], removed = [] } = this.#references.get(typeUrl)?.take() ?? {};
    for (const name of removed) {
      type.held.delete(name);
      type.digests.delete(name);
      this.#warming.delete(name);
    }
    if (typeUrl === endpointType && !this.#type(listenerType).asked) for (const name of added) this.#warming.add(name);
    if (added.length === 0 && removed.length === 0) return;
    if (!type.asked) this.#ask(typeUrl);
    else if (this.#options.variant === "delta") this.#send({ typeUrl, names: added, unsubscribe: removed });
    else this.#send({ typeUrl, nonce: type.nonce, ...this.#state(typeUrl, type) });
  }

  #ask(typeUrl: string): void {
    const type = this.#type(typeUrl);
    type.asked = true;
    if (this.#options.variant === "sotw") this.#send({ typeUrl, ...this.#state(typeUrl, type) });
    else this.#send({ typeUrl, names: this.#references.get(typeUrl)?.names() ?? [], initialVersions: type.held });
  }

  /** What a state-of-the-world request says each time. */
  #state(typeUrl: string, { version }: TypeState): Partial<WireRequest> {
    return this.#options.variant === "delta" ? {} : { version, names: this.#references.get(typeUrl)?.names() ?? [] };
  }

  #send(request: WireRequest, answer = false): void {
    const { variant, node, events } = this.#options;
    const message = encodeRequest(variant, this.#first ? { ...request, node } : request);
    this.#first = false;
    this.#channel?.send(message);
    events?.sent?.(message.length + grpcPrefix, answer);
  }
}

const none: readonly string[] = [];

function endpointsIn({ bytes }: ReceivedResource): readonly string[] {
  const name = endpointsOf(bytes);
  return name === undefined ? none : [intern(name)];
}

const routesIn = ({ bytes }: ReceivedResource): readonly string[] => routesOf(bytes).map(intern);
