import { setInterval } from "node:timers";
import { Worker } from "node:worker_threads";
import { HangWatch, threadCpuMs } from "./hang-watch.js";
import { type Job, type JobResult, sharedHeader } from "./worker.js";

export interface Run {
  readonly cases: number;
  readonly fault?: { readonly input: Uint8Array; readonly message: string };
}

export interface RunOptions {
  readonly cases: number;
  readonly seed: number;
  readonly corpus: readonly Uint8Array[];
  /** CPU time that one input may take, in milliseconds. Default 10,000. */
  readonly hangMs?: number;
  /** Heap of the worker in MiB. Default 256. */
  readonly heapMiB?: number;
}

const maxInput = 1024 * 1024;
/** Time that a worker may take until its first input, which is no fault of the target. */
const startMs = 60_000;
const checkMs = 500;

/** Runs a target in a worker thread, so that a hang or an exhausted heap is a fault with its input. */
export async function runInWorker(target: string, options: RunOptions): Promise<Run> {
  const { hangMs = 10_000, heapMiB = 256, ...job } = options;
  const shared = new SharedArrayBuffer(sharedHeader + maxInput);
  const counters = new Int32Array(shared, 0, 3);
  const worker = new Worker(new URL("../dist/worker.js", import.meta.url), {
    workerData: { target, shared, ...job } satisfies Job,
    // A test that runs from source passes conditions for it, which built files must not inherit.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMiB },
  });
  const fault = (message: string): Run => ({
    cases: Atomics.load(counters, 0),
    fault: { input: new Uint8Array(shared.slice(sharedHeader, sharedHeader + (counters[1] ?? 0))), message },
  });
  return new Promise((resolve) => {
    const hang = new HangWatch(hangMs);
    const startedAt = performance.now();
    const watch = setInterval(() => {
      const cases = Atomics.load(counters, 0);
      const wallMs = performance.now();
      if (cases === 0) {
        if (wallMs - startedAt > startMs) finish(fault("the worker did not start"));
        return;
      }
      const reason = hang.observe({ cases, wallMs, cpuMs: threadCpuMs(Atomics.load(counters, 2)) });
      if (reason !== undefined) finish(fault(reason));
    }, checkMs);
    const finish = (run: Run): void => {
      clearInterval(watch);
      resolve(run);
      void worker.terminate();
    };
    worker.once("message", (result: JobResult) => finish({ cases: Atomics.load(counters, 0), ...result }));
    worker.once("error", (error) => finish(fault(String(error))));
    worker.once("exit", (code) => finish(fault(`the worker exited with ${code}`)));
  });
}
