import { setTimeout as wait } from "node:timers/promises";

const intervalMs = 50;

/** Times of requests for `/ready`, one after the other. */
export interface ReadinessWatch {
  /** Ends the requests. Returns the longest time in milliseconds; infinite if a request failed. */
  stop(): Promise<number>;
}

/** Requests `/ready` of an istiod until it is stopped. */
export function watchReadiness(http: string): ReadinessWatch {
  let longest = 0;
  let isStopped = false;
  const watching = (async () => {
    while (!isStopped) {
      const before = performance.now();
      const isReady = await fetch(new URL("/ready", http)).then(
        async (response) => (await response.arrayBuffer(), response.ok),
        () => false,
      );
      longest = Math.max(longest, isReady ? performance.now() - before : Infinity);
      await wait(intervalMs);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await watching;
      return longest;
    },
  };
}
