import { once } from "node:events";
import { Worker } from "node:worker_threads";

export interface ReadyTimes {
  /** Milliseconds of each answer. */
  readonly ms: readonly number[];
  /** Times of the answers in milliseconds since the epoch. */
  readonly endedAt: readonly number[];
  /** Answers other than 200, errors, and timeouts after 10 s. */
  readonly failures: number;
}

/** Built file, even if this file runs from source. */
const worker = new URL("../../dist/target/ready-worker.js", import.meta.url);

/**
 * Starts to poll an address, on a connection of its own for each request, in a thread that the attack does not block.
 * The returned function stops and reports.
 */
export function probeReady(url: string): () => Promise<ReadyTimes> {
  const polling = new Worker(worker, { workerData: url, execArgv: [] });
  return async () => {
    polling.postMessage("stop");
    const [times] = (await once(polling, "message")) as [ReadyTimes];
    await polling.terminate();
    return times;
  };
}
