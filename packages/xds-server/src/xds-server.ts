import { randomBytes } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { systemClock } from "./clock.js";
import { admission } from "./connection/admission.js";
import { Connection, type ConnectionRegistry } from "./connection/connection.js";
import type { ServerContext } from "./connection/server-context.js";
import { PushQueue } from "./push/push-queue.js";
import type { XdsServer, XdsServerOptions } from "./server.js";
import type { ResourceSource, SourceChange } from "./source.js";
import { listen, type Listener } from "./transport/listen.js";
import { BodyCache } from "./wire/body-cache.js";

/** A client that is blocked counts among the concurrent ones for so long. */
const blockedLimitMs = 1000;
const sweepMs = 1000;
const endingStepMs = 50;
/** Before a change no more time is spent on telling it from those that wait already. */
const lookingMs = 50;
const none: ReadonlySet<string> = new Set();

/** Makes a server of a source's resources, which listens to nothing yet. */
export function createXdsServer<C>(source: ResourceSource<C>, options: XdsServerOptions = {}): XdsServer {
  const clock = options.clock ?? systemClock;
  const sendTimeoutMs = options.sendTimeoutMs ?? 60_000;
  const queue = new PushQueue({
    concurrent: options.concurrentPushes ?? 100,
    blockedLimitMs,
    maxCopiedBytes: options.maxCopiedBytes ?? 256 * 1024 * 1024,
    clock,
  });
  const connections = new Set<Connection<C>>();
  const byClient = new Map<C, Connection<C>>();
  /** Those whose turn with a change is still to come, and those that must be asked after the next one. */
  const unsettled = new Set<Connection<C>>();
  const listeners = new Set<Listener>();
  const admit = admission(options.streamsPerSecond, clock);
  let streams = 0;
  let revision: number | undefined;
  let closing: Promise<void> | undefined;

  const engine: ServerContext<C> = {
    source,
    queue,
    clock,
    bodies: new BodyCache({
      clock,
      ...(options.bodyCacheBytes !== undefined && { bytes: options.bodyCacheBytes }),
      ...(options.bodyCacheMs !== undefined && { ms: options.bodyCacheMs }),
    }),
    maxOutstandingBytes: options.maxOutstandingBytes ?? 64 * 1024,
    observe: options.observe ?? (() => undefined),
    admit: async () => {
      if (closing !== undefined) throw shuttingDown();
      if (!source.ready()) throw new ConnectError("the server has nothing to serve yet", Code.Unavailable);
      await admit();
    },
    number: () => ++streams,
    process: `${randomBytes(4).toString("base64url")}.`,
    revision: () => revision,
  };

  const register: ConnectionRegistry<C> = {
    opened(connection, client) {
      connections.add(connection);
      byClient.set(client, connection);
    },
    closed(connection, client) {
      connections.delete(connection);
      unsettled.delete(connection);
      if (byClient.get(client) === connection) byClient.delete(client);
    },
    settled: (connection, settled) => (settled ? unsettled.delete(connection) : unsettled.add(connection)),
  };

  const changed = ({ types, clients, revision: change }: SourceChange<C>): void => {
    revision = change ?? revision;
    if (clients === undefined) {
      const differing = types && new Set(types);
      for (const connection of connections) connection.changed(differing, change);
      return;
    }
    const named = new Map<Connection<C>, ReadonlySet<string>>();
    for (const [client, differing] of clients) {
      const connection = byClient.get(client);
      if (connection !== undefined) named.set(connection, new Set(differing));
    }
    for (const connection of [...unsettled]) if (!named.has(connection)) connection.changed(none, change);
    for (const [connection, differing] of named) connection.changed(differing, change);
  };
  const changing = (): void => {
    const until = clock.now() + lookingMs;
    for (const connection of unsettled) {
      connection.changing();
      if (clock.now() > until) break;
    }
  };
  const stopWatching = source.watch(changed, changing);

  let stopSweeping: () => void = () => undefined;
  const sweep = (): void => {
    const limit = clock.now() - sendTimeoutMs;
    for (const connection of connections) {
      const since = connection.stalledSince;
      if (since !== undefined && since < limit) connection.abort(`the client took nothing for ${sendTimeoutMs} ms`);
    }
    stopSweeping = clock.after(sweepMs, sweep);
  };
  sweep();

  const close = async (graceMs: number): Promise<void> => {
    stopWatching();
    for (const listener of listeners) listener.goAway();
    const until = clock.now() + graceMs;
    while (connections.size > 0) {
      const left = until - clock.now();
      const share =
        left <= 0 ? connections.size : Math.ceil((connections.size * endingStepMs) / Math.max(left, endingStepMs));
      const restingFirst = [...connections].sort(
        (a, b) => Number(a.stalledSince !== undefined) - Number(b.stalledSince !== undefined),
      );
      for (const connection of restingFirst.slice(0, share))
        connection.end(shuttingDown(), "the server is shutting down");
      if (connections.size > 0) await new Promise<void>((resolve) => clock.after(endingStepMs, resolve));
    }
    stopSweeping();
    await Promise.all([...listeners].map((listener) => listener.shutdown()));
  };

  const server: XdsServer = {
    async listen(listenOptions) {
      if (closing !== undefined) throw shuttingDown();
      const listener = await listen(server, listenOptions, clock);
      listeners.add(listener);
      return listener;
    },
    accept: (call) => new Connection(engine, register, call),
    connections: () =>
      [...connections].map((connection) => connection.snapshot()).filter((snapshot) => snapshot !== undefined),
    unserved() {
      let oldest: number | undefined;
      for (const { owed } of unsettled)
        if (owed !== undefined && (oldest === undefined || owed < oldest)) oldest = owed;
      return oldest;
    },
    disconnect(id, reason = "disconnected by an administrator") {
      const found = [...connections].find((connection) => connection.id === id);
      found?.end(new ConnectError(reason, Code.Unavailable), reason);
      return found !== undefined;
    },
    push: () => changed({}),
    close: ({ graceMs = 5000 } = {}) => (closing ??= close(graceMs)),
  };
  return server;
}

function shuttingDown(): ConnectError {
  return new ConnectError("the server is shutting down", Code.Unavailable);
}
