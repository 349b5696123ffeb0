import { Worker } from "node:worker_threads";
import { type PartOptions, FleetPart, type Progress, progressBytes, readProgress } from "./part.js";
import { mergeReports, type PartReport } from "./traffic.js";
import { type PartCommand, run } from "./worker.js";

/** A fleet, wherever its proxies are simulated. */
export interface Fleet {
  readonly size: number;
  do(command: Exclude<PartCommand, { readonly do: "report" }>): Promise<void>;
  report(): Promise<PartReport>;
  /** At any time, also while the threads are busy. */
  progress(): Progress;
  close(): Promise<void>;
}

interface Part {
  ask(command: PartCommand): Promise<unknown>;
  close(): Promise<unknown>;
  readonly progress: SharedArrayBuffer;
}

/** As built, also where this file itself runs from source. */
const built = new URL("../../dist/fleet/worker.js", import.meta.url);

/** Milliseconds in which a thread must answer, however busy it is. */
const answerMs = 600_000;

/** Heap for the names and versions that thousands of proxies hold. */
const heapMB = 6 * 1024;

/**
 * Spreads the proxies over threads.
 *
 * @param threads 0: all in the thread of the caller
 */
export function startFleet({ members, ...rest }: Omit<PartOptions, "progress">, threads: number): Fleet {
  const count = Math.max(1, threads);
  const parts = Array.from({ length: count }, (_, at): Part => {
    const options = {
      ...rest,
      members: members.filter((_, i) => i % count === at),
      progress: new SharedArrayBuffer(progressBytes),
    };
    return threads === 0 ? partHere(options) : partInThread(options);
  });
  return {
    size: members.length,
    do: async (command) => void (await Promise.all(parts.map((part) => part.ask(command)))),
    report: async () =>
      mergeReports((await Promise.all(parts.map((part) => part.ask({ do: "report" })))) as PartReport[]),
    progress() {
      const each = parts.map(({ progress }) => readProgress(progress));
      const sum = (of: (progress: Progress) => number): number => each.reduce((total, one) => total + of(one), 0);
      return {
        activeAt: Math.max(...each.map(({ activeAt }) => activeAt)),
        complete: sum((p) => p.complete),
        dropped: sum((p) => p.dropped),
      };
    },
    close: async () => void (await Promise.all(parts.map((part) => part.close()))),
  };
}

function partHere(options: PartOptions): Part {
  const part = new FleetPart(options);
  return { ask: async (command) => run(part, command), close: async () => part.drop(), progress: options.progress };
}

function partInThread(options: PartOptions): Part {
  const worker = new Worker(built, {
    workerData: options,
    resourceLimits: { maxOldGenerationSizeMb: heapMB },
    execArgv: [],
  });
  let failed: Error | undefined;
  const waiting: { readonly resolve: (answer: unknown) => void; readonly reject: (error: Error) => void }[] = [];
  const fail = (error: Error): void => {
    failed ??= error;
    for (const { reject } of waiting.splice(0)) reject(failed);
  };
  worker.on("message", (answer) => waiting.shift()?.resolve(answer));
  worker.on("error", (error) => fail(error instanceof Error ? error : new Error(String(error))));
  worker.on("exit", (code) => fail(new Error(`a thread of the fleet has ended with ${code}`)));
  return {
    ask: (command) =>
      new Promise((resolve, reject) => {
        if (failed !== undefined) return reject(failed);
        const late = new Error(`a thread of the fleet has not answered ${command.do} for ${answerMs / 1000} s`);
        const timer = setTimeout(() => fail(late), answerMs);
        waiting.push({
          resolve: (answer) => (clearTimeout(timer), resolve(answer)),
          reject: (error) => (clearTimeout(timer), reject(error)),
        });
        worker.postMessage(command);
      }),
    close: () => worker.terminate(),
    progress: options.progress,
  };
}
