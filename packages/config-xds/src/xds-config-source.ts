import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import type { RejectedPolicy, Source, SourceUpdate, SyncReason, SyncState } from "@istiod/config-ingestion";
import { applyChanges, type DecodeOptions, type Kind } from "@istiod/config-schema";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { AggregatedDiscoveryService } from "@istiod/envoy-api/envoy/service/discovery/v3/ads";
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { abortableDelay, Backoff, type Clock, createClock } from "@istiod/runtime";
import { type ConfigType, configTypes, configTypeUrl } from "./config-type.js";
import { ReceivedObjects } from "./received-objects.js";
import { RequestQueue } from "./request-queue.js";

export interface XdsConfigSourceOptions {
  /** URL of the server for messages, for example `xds://config.example:15010`. */
  readonly url: string;
  /** gRPC transport to the server. */
  readonly transport: Transport;
  readonly node: Node;
  /** Returns the headers of each new stream, such as a token. Default: none. */
  readonly headers?: () => Promise<Readonly<Record<string, string>>>;
  /** Default: each of Istio's kinds, in its newest version. */
  readonly types?: readonly ConfigType[];
  readonly decode?: Pick<DecodeOptions, "cluster" | "revision">;
  /** Default: the clock of the process. */
  readonly clock?: Clock;
  /** Returns a number from 0 to 1, for jitter. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Milliseconds before the first and between later attempts to connect. */

/**
 * Configuration objects that an xDS server sends, such as another istiod. It has synced once the server has answered
 * for every type. When the stream ends, the objects stay as they are until a new stream answers.
 */
export class XdsConfigSource implements Source {
  readonly name: string;
  readonly #options: XdsConfigSourceOptions;
  readonly #clock: Clock;
  readonly #types: ReadonlyMap<string, ConfigType>;
  readonly #objects: ReceivedObjects;
  readonly #stopped = new AbortController();
  readonly #answered = new Set<string>();
  #sync: SyncState = { state: "syncing" };
  readonly #backoff: Backoff;

  constructor(options: XdsConfigSourceOptions) {
    this.name = options.url;
    this.#options = options;
    this.#clock = options.clock ?? createClock();
    this.#backoff = new Backoff(options.random && { random: options.random });
    this.#types = new Map((options.types ?? configTypes()).map((type) => [configTypeUrl(type), type]));
    this.#objects = new ReceivedObjects(options.url, options.decode ?? {});
  }

  start(changed: () => void): Promise<void> {
    return new Promise((resolve) => void this.#run(changed, resolve));
  }

  async read(): Promise<SourceUpdate> {
    const changes = this.#objects.takeChanges();
    return { apply: (tx) => applyChanges(tx, changes), problems: this.#objects.problems() };
  }

  syncState(): SyncState {
    return this.#sync;
  }

  /** Returns the rejected objects of kinds that restrict, with what applies instead. */
  rejectedPolicies(): readonly RejectedPolicy[] {
    return this.#objects.rejectedPolicies();
  }

  locate(kind: Kind, key: string): ReturnType<NonNullable<Source["locate"]>> {
    return this.#objects.locate(kind, key);
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #run(changed: () => void, synced: () => void): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const reason = await this.#stream(changed, synced).then(
        () => ({ reason: "the server ended the stream" }),
        syncReason,
      );
      if (signal.aborted) return;
      this.#lost(reason);
      changed();
      await abortableDelay(this.#clock, this.#backoff.next(), this.#stopped.signal);
    }
  }

  /** Reads one stream until it ends. */
  async #stream(changed: () => void, synced: () => void): Promise<void> {
    const { transport, node, headers } = this.#options;
    const requests = new RequestQueue<DiscoveryRequest>();
    const { signal } = this.#stopped;
    const stream = createClient(AggregatedDiscoveryService, transport).streamAggregatedResources(requests, {
      signal,
      headers: (await headers?.()) ?? {},
    });
    for (const [i, typeUrl] of [...this.#types.keys()].entries())
      requests.push(create(DiscoveryRequestSchema, { typeUrl, ...(i === 0 && { node }) }));
    try {
      const answered = new Set<string>();
      for await (const response of stream) {
        this.#receive(response);
        answered.add(response.typeUrl);
        this.#answered.add(response.typeUrl);
        const { typeUrl, versionInfo, nonce: responseNonce } = response;
        requests.push(create(DiscoveryRequestSchema, { typeUrl, versionInfo, responseNonce }));
        if (answered.size >= this.#types.size) this.#sync = { state: "synced" };
        if (this.#answered.size >= this.#types.size) synced();
        changed();
      }
    } finally {
      requests.close();
    }
  }

  #receive({ typeUrl, resources }: DiscoveryResponse): void {
    this.#backoff.reset();
    const type = this.#types.get(typeUrl);
    if (type === undefined) return;
    this.#objects.replace(
      type,
      resources.map(({ typeUrl: messageType, value }) => ({ messageType, bytes: value })),
    );
  }

  #lost(reason: SyncReason): void {
    if (this.#answered.size < this.#types.size) this.#sync = { state: "syncing", ...reason };
    else {
      const since = this.#sync.state === "stale" ? this.#sync.since : this.#clock.now();
      this.#sync = { state: "stale", since, ...reason };
    }
  }
}

function syncReason(error: unknown): SyncReason {
  const { message, code } = ConnectError.from(error);
  return { reason: message, reasonKind: Code[code] };
}
