import type { Clock } from "@istiod/runtime";
import type { ConnectionRegistry } from "./connection-registry.js";

const intervalMs = 1000;

/** Disconnects clients that have not read anything for the timeout. Returns a function that stops this. */
export function enforceSendTimeout<C>(connections: ConnectionRegistry<C>, timeoutMs: number, clock: Clock): () => void {
  let cancel = clock.after(intervalMs, sweep);
  function sweep(): void {
    const limit = clock.now() - timeoutMs;
    for (const connection of connections) {
      const since = connection.stalledSince;
      if (since !== undefined && since < limit)
        connection.abort(`send timeout: the client read nothing for ${timeoutMs} ms`);
    }
    cancel = clock.after(intervalMs, sweep);
  }
  return () => cancel();
}
