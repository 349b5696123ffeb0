import { readlinkSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { fuzz } from "./fuzz.js";
import { selfTests } from "./targets/self-tests.js";
import { targets } from "./targets/index.js";

/** The parameters of the worker. */
export interface Job {
  readonly target: string;
  readonly cases: number;
  readonly seed: number;
  readonly corpus: readonly Uint8Array[];
  /**
   * Number of the current case, the length of its input, the ID of the thread (0 where the system does not tell it),
   * and the input: readable while the worker hangs.
   */
  readonly shared: SharedArrayBuffer;
}

export interface JobResult {
  readonly fault?: { readonly input: Uint8Array; readonly message: string };
}

/** Bytes before the input in the shared buffer. */
export const sharedHeader = 12;

async function work({ target: name, shared, ...options }: Job): Promise<JobResult> {
  const target = [...targets, ...selfTests.targets].find((each) => each.name === name);
  if (target === undefined) throw new Error(`no target ${name}`);
  const counters = new Int32Array(shared, 0, 3);
  counters[2] = currentThread();
  const bytes = new Uint8Array(shared, sharedHeader);
  const before = (input: Uint8Array): void => {
    bytes.set(input.subarray(0, bytes.length));
    counters[1] = Math.min(input.length, bytes.length);
    Atomics.add(counters, 0, 1);
  };
  const fault = await fuzz(target, { ...options, before });
  if (fault === undefined) return {};
  const { error, input } = fault;
  return { fault: { input, message: error instanceof Error ? (error.stack ?? error.message) : String(error) } };
}

function currentThread(): number {
  try {
    return Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  } catch {
    return 0;
  }
}

if (parentPort !== null) {
  const port = parentPort;
  void work(workerData as Job).then((result) => port.postMessage(result));
}
