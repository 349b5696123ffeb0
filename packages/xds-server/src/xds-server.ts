import { randomBytes } from "node:crypto";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Code, ConnectError } from "@connectrpc/connect";
import { noAttribution } from "./attribution.js";
import { monotonicClock, UnreadBytes } from "@istiod/runtime";
import { rejected } from "./connection/admission.js";
import { Connection } from "./connection/connection.js";
import { ConnectionRegistry } from "./connection/connection-registry.js";
import { enforceSendTimeout } from "./connection/send-timeout.js";
import { SharedAllowance } from "./limits/shared-allowance.js";
import type { ServerContext, StreamClass } from "./connection/server-context.js";
import { SliceQueue } from "./connection/slice-queue.js";
import { endStreams, shuttingDown } from "./connection/shutdown.js";
import { serverLimits, type ServerLimits } from "./limits/server-limits.js";
import { PushQueue } from "./push/push-queue.js";
import type { Connection as ConnectionState, Listening, ListenOptions, XdsServer, XdsServerOptions } from "./api.js";
import { defaultLimits, type StreamLimits } from "./limits/stream-limits.js";
import type { OnDemandHandler, ResourceSource, SourceChange } from "./source.js";
import type { Call, CallHandler } from "./transport/call.js";
import { listen, type Listener } from "./transport/listen.js";
import { KnownRejections } from "./limits/known-rejections.js";
import { TrialPool } from "./limits/trial-pool.js";
import { DoubtMemory } from "./protocol/doubt-memory.js";
import { BodyCache } from "./wire/body-cache.js";
import { BodyCompressor } from "./wire/body-compressor.js";

const blockedLimitMs = 1000;
const defaultSendTimeoutMs = 60_000;

/** Creates a server for a source's resources. It has no listeners yet. */
export function createXdsServer<C>(source: ResourceSource<C>, options: XdsServerOptions = {}): XdsServer {
  return new SourceServer(source, options);
}

class SourceServer<C> implements XdsServer {
  readonly #context: ServerContext<C>;
  readonly #connections = new ConnectionRegistry<C>();
  readonly #limits: ServerLimits;
  readonly #listeners = new Set<Listener>();
  readonly #stopWatching: () => void;
  readonly #stopSendTimeout: () => void;
  #closing: Promise<void> | undefined;

  constructor(source: ResourceSource<C>, options: XdsServerOptions) {
    const clock = options.clock ?? monotonicClock;
    this.#limits = serverLimits(options, clock);
    this.#context = serverContext(source, this.#connections, options, (call) => {
      const error = this.#closing !== undefined ? shuttingDown() : source.ready() ? undefined : nothingToServe();
      return error === undefined ? this.#limits.admit(call) : rejected(error);
    });
    this.#stopWatching = source.watch((change) => this.#changed(change));
    const timeoutMs = options.sendTimeoutMs ?? defaultSendTimeoutMs;
    this.#stopSendTimeout = enforceSendTimeout(this.#connections, timeoutMs, clock);
  }

  async listen(options: ListenOptions): Promise<Listening> {
    if (this.#closing !== undefined) throw shuttingDown();
    const listener = await listen(this, options, this.#limits.listening);
    this.#listeners.add(listener);
    return listener;
  }

  handle(handler: OnDemandHandler): void {
    this.#context.onDemand.push(handler);
  }

  accept(call: Call): CallHandler {
    return new Connection(this.#context, call);
  }

  connections(): readonly ConnectionState[] {
    return [...this.#connections].flatMap((connection) => connection.snapshot() ?? []);
  }

  rejectedResources(): ReadonlyMap<string, ReadonlySet<string>> {
    const rejected = new Map<string, Set<string>>();
    for (const connection of this.#connections)
      for (const [typeUrl, name] of connection.rejectedResources()) {
        const names = rejected.get(typeUrl);
        if (names === undefined) rejected.set(typeUrl, new Set([name]));
        else names.add(name);
      }
    return rejected;
  }

  nodes(): readonly Node[] {
    return [...this.#connections].flatMap((connection) => connection.node ?? []);
  }

  disconnect(id: string, reason = "disconnected by an administrator"): boolean {
    const found = [...this.#connections].find((connection) => connection.id === id);
    found?.end(new ConnectError(reason, Code.Unavailable), reason);
    return found !== undefined;
  }

  push(): void {
    this.#changed({});
  }

  close({ graceMs = 5000 }: { readonly graceMs?: number } = {}): Promise<void> {
    return (this.#closing ??= this.#close(graceMs));
  }

  async #close(graceMs: number): Promise<void> {
    this.#stopWatching();
    for (const listener of this.#listeners) listener.goAway();
    await endStreams(this.#connections, graceMs, this.#context.clock);
    this.#stopSendTimeout();
    this.#limits.stop();
    await Promise.all([...this.#listeners].map((listener) => listener.shutdown()));
  }

  #changed(change: SourceChange<C>): void {
    this.#context.attribution.changed(change.revision);
    this.#connections.changed(change);
  }
}

function nothingToServe(): ConnectError {
  return new ConnectError("the server has nothing to serve yet", Code.Unavailable);
}

function serverContext<C>(
  source: ResourceSource<C>,
  connections: ConnectionRegistry<C>,
  options: XdsServerOptions,
  admit: ServerContext<C>["admit"],
): ServerContext<C> {
  const clock = options.clock ?? monotonicClock;
  let streams = 0;
  return {
    source,
    connections,
    onDemand: [],
    unreadAnswers: new UnreadBytes({ clock }),
    clock,
    memory: new DoubtMemory(options.doubtMemoryMs),
    trials: new TrialPool(clock),
    rejections: new KnownRejections(),
    random: options.random ?? Math.random,
    isolatesRejections: options.isolatesRejections ?? true,
    admit,
    slices: new SliceQueue(clock),
    queue: new PushQueue({
      concurrent: options.concurrentPushes ?? 100,
      blockedLimitMs,
      maxCopiedBytes: options.maxCopiedBytes ?? 256 * 1024 * 1024,
      clock,
    }),
    classes: {
      authenticated: streamClass({ ...defaultLimits.authenticated, ...options.limits?.authenticated }),
      unauthenticated: streamClass({ ...defaultLimits.unauthenticated, ...options.limits?.unauthenticated }),
    },
    compressor: new BodyCompressor(),
    bodies: new BodyCache({
      clock,
      messageType: (typeUrl) => source.messageType?.(typeUrl) ?? typeUrl,
      ...(options.bodyCacheBytes !== undefined && { bytes: options.bodyCacheBytes }),
      ...(options.bodyCacheMs !== undefined && { ms: options.bodyCacheMs }),
    }),
    attribution: options.attribution ?? noAttribution,
    maxOutstandingBytes: options.maxOutstandingBytes ?? 64 * 1024,
    observe: options.observe ?? (() => undefined),
    nextStreamNumber: () => ++streams,
    processPrefix: `${randomBytes(4).toString("base64url")}.`,
  };
}

function streamClass(limits: Required<StreamLimits>): StreamClass {
  return { limits, allowance: new SharedAllowance(limits.totalUnmatchedBytes) };
}
