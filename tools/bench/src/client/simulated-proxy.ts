import { clusterType, endpointType, listenerType, routeType, type Variant } from "@istiod/xds-server";
import { type Channel, encodeRequest, openChannel, type Target, type WireRequest } from "@istiod/xds-server/testing";
import { BackOff } from "./back-off.js";
import { type Content, type Entry, readResponse } from "./content.js";
import { difference, encodedNames, Holding } from "./holding.js";

export interface SimulatedProxyOptions {
  readonly target: Target;
  readonly variant: Variant;
  /** An encoded `envoy.config.core.v3.Node`. */
  readonly node: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** From 0 to below 1; for the waits before it connects again. */
  readonly random?: () => number;
  readonly events?: ProxyEvents;
}

/** A response, counted. */
export interface CountedResponse {
  readonly typeUrl: string;
  readonly resources: number;
  readonly removed: number;
  /** Without the gRPC prefix. */
  readonly bytes: number;
}

interface ProxyEvents {
  /** A stream is being opened. */
  readonly opened?: () => void;
  /** A response came, encoded and without the gRPC prefix. */
  readonly received?: (message: Uint8Array) => void;
  /** A response came; gives the reason for which it is refused, undefined to accept it. */
  readonly response?: (response: CountedResponse) => string | undefined;
  /**
   * A request was handed to the transport. @param answer whether it is an ACK or NACK @param bytes with the gRPC prefix
   */
  readonly sent?: (bytes: number, answer: boolean) => void;
  /** It has an answer for each type that it needs, for the first time on this stream. */
  readonly complete?: () => void;
  /** The server, or the network, ended the stream. */
  readonly broken?: (reason: string) => void;
}

interface TypeState {
  /** A request for the type was sent, and a response received, on this stream. */
  asked: boolean;
  answered: boolean;
  nonce: string;
  /** State-of-the-world: the version accepted last. */
  version: string;
  holding: Holding;
  /** Names subscribed to; undefined for a type of which all is asked for. */
  names: ReadonlySet<string> | undefined;
}

const types = [clusterType, endpointType, listenerType, routeType];
/** Types whose resource names come from resources of another type. */
const referring: Readonly<Record<string, string>> = { [endpointType]: clusterType, [routeType]: listenerType };
const grpcPrefix = 5;
const noNames: ReadonlySet<string> = new Set();

/**
 * A proxy as a server sees it, cheap enough for thousands in a process: it subscribes in Envoy's order — clusters, the
 * endpoints of those that want them, then listeners, then the routes that those name —, answers every response, and
 * knows names, versions and digests but keeps no resource. A stream that breaks is opened again after Envoy's wait,
 * with what is held.
 */
export class SimulatedProxy {
  readonly #options: SimulatedProxyOptions;
  readonly #types: ReadonlyMap<string, TypeState>;
  readonly #backOff: BackOff;
  /** Endpoints that are not to be had, while the first ones are waited for. */
  readonly #absent = new Set<string>();
  #channel: Channel | undefined;
  #timer: NodeJS.Timeout | undefined;
  #first = true;
  #complete = false;
  #responses = 0;
  readonly #fences: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  #fencesMade = 0;

  constructor(options: SimulatedProxyOptions) {
    this.#options = options;
    this.#backOff = new BackOff(options.random);
    const fresh = (type: string): TypeState => ({
      asked: false,
      answered: false,
      nonce: "",
      version: "",
      holding: Holding.nothing,
      names: type in referring ? noNames : undefined,
    });
    this.#types = new Map(types.map((type) => [type, fresh(type)]));
  }

  /** Reports whether every type that it needs has been answered on this stream. */
  get complete(): boolean {
    return this.#complete;
  }

  get connected(): boolean {
    return this.#channel !== undefined;
  }

  /** Returns the resources that it holds of a type. */
  held(typeUrl: string): ReadonlyMap<string, Entry> {
    return this.#type(typeUrl).holding.entries;
  }

  /** Opens a stream. One that held something before asks for all types at once, and tells what it has. */
  connect(): void {
    this.drop();
    const { target, variant, headers } = this.#options;
    const again = types.filter((type) => this.#type(type).asked);
    for (const type of this.#types.values()) Object.assign(type, { asked: false, answered: false, nonce: "" });
    this.#first = true;
    this.#complete = false;
    this.#options.events?.opened?.();
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

  /**
   * Resolves when the server owes nothing: a type that nobody serves is answered after all that was due. Rejects if the
   * stream ends.
   */
  async settled(): Promise<void> {
    let known: number;
    do {
      known = this.#responses;
      await new Promise<void>((resolve, reject) => {
        if (this.#channel === undefined) return reject(new Error("there is no stream"));
        this.#fences.push({ resolve, reject });
        this.#send({ typeUrl: "fence/type", names: [`${this.#fencesMade++}`] });
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
    for (const { reject } of this.#fences.splice(0)) reject(new Error(reason));
  }

  #receive(message: Uint8Array): void {
    const { typeUrl, nonce, version, resources, removed, carried } = readResponse(this.#options.variant, message);
    const type = this.#types.get(typeUrl);
    if (type === undefined) {
      this.#fences.shift()?.resolve();
      return;
    }
    this.#backOff.reset();
    this.#responses++;
    this.#options.events?.received?.(message);
    type.nonce = nonce;
    type.answered = true;
    const error = this.#options.events?.response?.({ typeUrl, resources, removed, bytes: message.length });
    if (error === undefined) {
      type.version = version;
      this.#take(typeUrl, type, carried);
    }
    this.#answer(typeUrl, type, error);
    if (error === undefined) this.#follow(typeUrl, type);
    if (
      !this.#complete &&
      this.#type(listenerType).asked &&
      types.every((each) => this.#type(each).answered || !this.#type(each).asked)
    ) {
      this.#complete = true;
      this.#options.events?.complete?.();
    }
  }

  #take(typeUrl: string, type: TypeState, carried: Content): void {
    const isFull = this.#options.variant === "sotw" && type.names === undefined;
    type.holding = type.holding.after(carried, { isFull, wanted: type.names });
    if (typeUrl === endpointType && !this.#type(listenerType).asked)
      for (const name of carried.removed) if (type.names?.has(name)) this.#absent.add(name);
  }

  /** Subscribes to what is now referred to, and asks for listeners once the first endpoints are there. */
  #follow(typeUrl: string, { holding }: TypeState): void {
    for (const [referred, from] of Object.entries(referring))
      if (from === typeUrl) this.#subscribe(referred, holding.references);
    if (this.#type(listenerType).asked) return;
    const { holding: endpoints, names } = this.#type(endpointType);
    if (endpoints.entries.size + this.#absent.size >= (names?.size ?? 0)) this.#ask(listenerType);
  }

  #subscribe(typeUrl: string, names: ReadonlySet<string>): void {
    const type = this.#type(typeUrl);
    const { names: before = noNames } = type;
    if (before === names) return;
    const { added, removed } = difference(before, names);
    type.names = names;
    type.holding = type.holding.only(names);
    for (const name of removed) this.#absent.delete(name);
    if (added.length === 0 && removed.length === 0) return;
    if (!type.asked) this.#ask(typeUrl);
    else if (this.#options.variant === "delta") this.#send({ typeUrl, names: added, unsubscribe: removed });
    else this.#send({ typeUrl, nonce: type.nonce, version: type.version }, [encodedNames("sotw", names)]);
  }

  #ask(typeUrl: string): void {
    const type = this.#type(typeUrl);
    const { variant } = this.#options;
    type.asked = true;
    const names = type.names === undefined ? [] : [encodedNames(variant, type.names)];
    if (variant === "sotw") this.#send({ typeUrl, version: type.version }, names);
    else this.#send({ typeUrl }, [...names, type.holding.encodedVersions]);
  }

  #answer(typeUrl: string, { nonce, version, names }: TypeState, error: string | undefined): void {
    if (this.#options.variant === "delta") this.#send({ typeUrl, nonce, error }, [], true);
    else this.#send({ typeUrl, nonce, version, error }, names === undefined ? [] : [encodedNames("sotw", names)], true);
  }

  /** @param parts what was encoded of the request before */
  #send(request: WireRequest, parts: readonly Uint8Array[] = [], answer = false): void {
    const { variant, node, events } = this.#options;
    const own = encodeRequest(variant, this.#first ? { ...request, node } : request);
    this.#first = false;
    const message = parts.length === 0 ? own : Buffer.concat([own, ...parts]);
    this.#channel?.send(message);
    events?.sent?.(message.length + grpcPrefix, answer);
  }
}
