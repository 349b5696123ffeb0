import { clusterType, endpointType, listenerType, routeType, xdsType } from "@istiod/resources";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Variant } from "../events.js";
import type { Target } from "./open-channel.js";
import { endpointsOf, routesOf } from "./references.js";
import { judge, type Refusal } from "./envoy-rules.js";
import type { ReceivedResource, ReceivedResponse } from "./response.js";
import { XdsClient } from "./xds-client.js";

export interface EnvoyClientOptions {
  readonly variant: Variant;
  /** The node, or its id. Default "test". */
  readonly node?: Node | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Number of responses to keep. Default: all. */
  readonly history?: number;
  /** Additional types to subscribe to after the first listeners, with names, or by wildcard if there are none. */
  readonly also?: Readonly<Record<string, readonly string[]>>;
  /** Returns the error detail to NACK a response with, or undefined to ACK it. A rejected response changes nothing. */
  readonly reject?: (response: ReceivedResponse) => string | undefined;
  /**
   * Returns the reason for which a resource is invalid, or undefined. A response with invalid resources is rejected as
   * Envoy does, which applies a part of it.
   */
  readonly refuse?: (typeUrl: string, resource: ReceivedResource) => Refusal | undefined;
  /** Returns a number from 0 to less than 1, for what Envoy leaves to chance. Default: `Math.random`. */
  readonly random?: () => number;
}

/**
 * A simulated Envoy without traffic. It subscribes in Envoy's order (clusters, their endpoints, then listeners and
 * their routes), ACKs and stores resources, and sends initial versions when it reconnects. Like Envoy, a delta client
 * does not request clusters on a new stream while clusters are warming.
 */
export class EnvoyClient {
  readonly variant: Variant;
  readonly #options: EnvoyClientOptions;
  #target: Target;
  #xds: XdsClient;
  readonly #resources = new Map<string, Map<string, ReceivedResource>>();
  /** Versions of accepted responses, which are sent when the client reconnects. */
  readonly #recorded = new Map<string, Map<string, string>>();
  readonly #names = new Map<string, Set<string>>();
  readonly #versions = new Map<string, string>();
  /** Version of the last accepted response of each type. */
  readonly #accepted = new Map<string, string>();
  #asked = new Set<string>();
  readonly #warming = new Set<string>();
  readonly #waiting = new Set<() => void>();
  /** Responses received during each `settled` call. */
  readonly #settling = new Set<ReceivedResponse[]>();

  constructor(target: Target, options: EnvoyClientOptions) {
    this.variant = options.variant;
    this.#options = options;
    this.#target = target;
    this.#xds = this.#connect();
    this.#ask(clusterType);
  }

  /** The current stream, to inspect its responses and its end. */
  get xds(): XdsClient {
    return this.#xds;
  }

  /** Returns the accepted resources of a type. */
  resources(typeUrl: string): ReadonlyMap<string, ReceivedResource> {
    return this.#resources.get(typeUrl) ?? new Map();
  }

  /** Names of the endpoints that warming clusters wait for. */
  get warming(): ReadonlySet<string> {
    return this.#warming;
  }

  /** Waits until a condition holds; it is evaluated after each response. */
  until(condition: (client: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition(this)) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }

  /** Waits until every requested type was received and no cluster is warming. */
  initialized(): Promise<void> {
    return this.until(
      () =>
        this.#asked.has(listenerType) &&
        this.#warming.size === 0 &&
        [...this.#asked].every((typeUrl) => this.#versions.has(typeUrl)),
    );
  }

  /** Waits until the server has sent all pending responses, and returns those received meanwhile. */
  async settled(): Promise<ReceivedResponse[]> {
    const came: ReceivedResponse[] = [];
    this.#settling.add(came);
    let known: number;
    do {
      known = came.length;
      await this.#xds.settled();
    } while (came.length > known);
    this.#settling.delete(came);
    return came;
  }

  /** Resets the stream and opens another one, optionally to another server. */
  reconnect(target: Target = this.#target): void {
    this.#xds.close();
    this.#target = target;
    const asked = this.#asked;
    this.#asked = new Set();
    this.#versions.clear();
    this.#xds = this.#connect();
    // Envoy does this for state-of-the-world as well, but then never learns of removed endpoints and waits forever.
    const paused = this.variant === "delta" && this.#warming.size > 0 && asked.has(listenerType);
    for (const typeUrl of asked) if (typeUrl !== clusterType || !paused) this.#ask(typeUrl);
  }

  close(): void {
    this.#xds.close();
  }

  #connect(): XdsClient {
    const { variant, node, headers, history } = this.#options;
    const xds: XdsClient = new XdsClient(this.#target, {
      variant,
      ...(node !== undefined && { node }),
      ...(headers && { headers }),
      ...(history !== undefined && { history }),
      onResponse: (response) => {
        if (this.#xds !== xds || !this.#asked.has(response.typeUrl)) return;
        for (const came of this.#settling) came.push(response);
        this.#receive(response);
      },
    });
    return xds;
  }

  #ask(typeUrl: string): void {
    this.#asked.add(typeUrl);
    const recorded = Object.fromEntries(this.#recorded.get(typeUrl) ?? []);
    this.#xds.subscribe(typeUrl, [...(this.#names.get(typeUrl) ?? [])], recorded, this.#accepted.get(typeUrl));
  }

  #receive(response: ReceivedResponse): void {
    const reason = this.#options.reject?.(response);
    this.#versions.set(response.typeUrl, response.version);
    if (reason !== undefined) this.#xds.nack(response, reason);
    else {
      const { applied, removed, isIgnored, error } = judge(
        response,
        this.#options.refuse ?? (() => undefined),
        this.#options.random ?? Math.random,
      );
      if (isIgnored !== true) this.#apply(response, applied, removed);
      if (error === undefined) {
        this.#record(response);
        this.#xds.ack(response);
      } else this.#xds.nack(response, error);
      this.#follow(response);
    }
    for (const check of [...this.#waiting]) check();
  }

  /** Records the versions of an accepted response. Those of a rejected one are not, even if a part of it is applied. */
  #record({ typeUrl, version, resources, removed }: ReceivedResponse): void {
    this.#accepted.set(typeUrl, version);
    const recorded = this.#recorded.get(typeUrl) ?? new Map<string, string>();
    this.#recorded.set(typeUrl, recorded);
    const names = xdsType(typeUrl)?.subscription === "named" ? this.#names.get(typeUrl) : undefined;
    for (const { name, version } of resources) if (names?.has(name) !== false) recorded.set(name, version);
    for (const name of removed) recorded.delete(name);
  }

  /** Applies resources of a response. */
  #apply(
    { typeUrl, resources: all }: ReceivedResponse,
    resources: readonly ReceivedResource[],
    removed: readonly string[],
  ): void {
    const before = this.resources(typeUrl);
    const isNamed = xdsType(typeUrl)?.subscription === "named";
    const full = this.variant === "sotw" && !isNamed;
    const listed = new Set(all.map(({ name }) => name));
    const after = new Map([...before].filter(([name]) => !full || listed.has(name)));
    const names = isNamed ? this.#names.get(typeUrl) : undefined;
    for (const resource of resources) {
      // Resources that are no longer subscribed to are ignored.
      if (names?.has(resource.name) === false) continue;
      const known = before.get(resource.name);
      const endpoints = typeUrl === clusterType ? endpointsOf(resource.bytes) : undefined;
      if (endpoints !== undefined && (known === undefined || Buffer.compare(known.bytes, resource.bytes) !== 0))
        this.#warming.add(endpoints);
      if (typeUrl === endpointType) this.#warming.delete(resource.name);
      after.set(resource.name, resource);
    }
    for (const name of removed) {
      after.delete(name);
      if (typeUrl === endpointType) this.#warming.delete(name);
    }
    this.#resources.set(typeUrl, after);
  }

  /** Subscribes to the resources that a response refers to. */
  #follow({ typeUrl }: ReceivedResponse): void {
    const held = [...this.resources(typeUrl).values()];
    if (typeUrl === clusterType)
      this.#subscribe(
        endpointType,
        held.flatMap(({ bytes }) => endpointsOf(bytes) ?? []),
      );
    if (typeUrl === listenerType) {
      this.#subscribe(
        routeType,
        held.flatMap(({ bytes }) => routesOf(bytes)),
      );
      for (const [also, names] of Object.entries(this.#options.also ?? {})) {
        if (names.length > 0) this.#subscribe(also, names);
        else if (!this.#asked.has(also)) this.#ask(also);
      }
    }
    if (this.#warming.size === 0 && !this.#asked.has(clusterType)) this.#ask(clusterType);
    if (this.#warming.size === 0 && !this.#asked.has(listenerType)) this.#ask(listenerType);
  }

  #subscribe(typeUrl: string, referred: readonly string[]): void {
    const before = this.#names.get(typeUrl) ?? new Set();
    const after = new Set(referred);
    this.#names.set(typeUrl, after);
    const removed = [...before].filter((name) => !after.has(name));
    for (const name of removed) {
      if (typeUrl === endpointType) this.#warming.delete(name);
      this.#resources.get(typeUrl)?.delete(name);
      this.#recorded.get(typeUrl)?.delete(name);
    }
    if (!this.#asked.has(typeUrl)) {
      if (after.size > 0) this.#ask(typeUrl);
      return;
    }
    const added = [...after].filter((name) => !before.has(name));
    if (added.length > 0) this.#xds.subscribe(typeUrl, added);
    if (removed.length > 0) this.#xds.unsubscribe(typeUrl, removed);
  }
}
