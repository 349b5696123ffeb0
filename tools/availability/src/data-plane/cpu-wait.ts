import { readdirSync, readFileSync } from "node:fs";

/** The time that threads were ready to run and had no CPU, according to the scheduler of Linux. */
export class CpuWait {
  #former: ReadonlyMap<string, number> = new Map();

  /** Returns the longest wait of a thread of these processes since the last call, in seconds; 0 if it is unknown. */
  take(pids: readonly number[]): number {
    const waits = new Map(pids.flatMap((pid) => threadsOf(pid).map((path) => [path, waitOf(path)] as const)));
    const longest = [...waits].map(([path, seconds]) => seconds - (this.#former.get(path) ?? 0));
    this.#former = waits;
    return Math.max(0, ...longest);
  }
}

/** Returns the children of a process's main thread; none if it has ended. */
export function childrenOf(pid: number): readonly number[] {
  const text = read(`/proc/${pid}/task/${pid}/children`);
  return text.split(" ").filter(Boolean).map(Number);
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  } catch {
    return [];
  }
}

/** The second field of `schedstat`: nanoseconds on a run queue. */
function waitOf(thread: string): number {
  return Number(read(`${thread}/schedstat`).split(" ")[1] ?? 0) / 1e9;
}

/** Returns the text of a file of /proc; empty if its process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}
