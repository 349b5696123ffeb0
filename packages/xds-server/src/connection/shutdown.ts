import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "@istiod/runtime";
import type { ConnectionRegistry } from "./connection-registry.js";

const stepMs = 50;

/** The error of streams and calls that are rejected or ended because the server is shutting down. */
export function shuttingDown(): ConnectError {
  return new ConnectError("the server is shutting down", Code.Unavailable);
}

/** Ends all streams, spread evenly over the grace period. Streams with outstanding responses are ended last. */
export async function endStreams<C>(connections: ConnectionRegistry<C>, graceMs: number, clock: Clock): Promise<void> {
  const until = clock.now() + graceMs;
  while (connections.size > 0) {
    const left = until - clock.now();
    const count = left <= 0 ? connections.size : Math.ceil((connections.size * stepMs) / Math.max(left, stepMs));
    const idleFirst = [...connections].sort(
      (a, b) => Number(a.stalledSince !== undefined) - Number(b.stalledSince !== undefined),
    );
    for (const connection of idleFirst.slice(0, count)) connection.end(shuttingDown(), "the server is shutting down");
    if (connections.size > 0) await new Promise<void>((resolve) => clock.after(stepMs, resolve));
  }
}
