import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Memory of a process in bytes. */
export interface Memory {
  readonly rss: number;
  /** Peak since the start or the last reset. */
  readonly peak: number;
  /** Part of `rss` that no file has, and that no other process shares. */
  readonly anonymous: number;
}

let ticksPerSecond: number | undefined;

/**
 * CPU seconds that a process has used, of all its threads: by the scheduler's nanoseconds of each thread that lives, or
 * where the kernel does not tell those, by the hundredths of /proc/PID/stat.
 *
 * @throws Error if there is no such process
 */
export function cpuSeconds(pid: number): number {
  try {
    let nanoseconds = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`))
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    if (nanoseconds > 0) return nanoseconds / 1e9;
  } catch {
    // A thread that ended meanwhile, or a kernel without schedstat.
  }
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The command in parentheses may hold anything; utime and stime are the 14th and 15th field.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  ticksPerSecond ??= Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

export function memory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const bytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1024;
  return { rss: bytes("VmRSS"), peak: bytes("VmHWM"), anonymous: bytes("RssAnon") };
}

/** Resets the peak. Returns false if that is not permitted; the peak is then that since the start. */
export function resetPeak(pid: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
    return true;
  } catch {
    return false;
  }
}
