import { readdirSync, readFileSync } from "node:fs";

/** A process in /proc. The start time distinguishes it from a later process with the same ID. */
export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly startTime: string;
  readonly state: string;
  readonly command: string;
}

/** Lists a process and its descendants. */
export function listTree(root: number): ProcessInfo[] {
  const all = listProcesses();
  const tree = all.filter(({ pid }) => pid === root);
  for (const process of tree) tree.push(...all.filter(({ parent }) => parent === process.pid));
  return tree;
}

/** Returns the IDs and command lines of the processes that are still running. */
export function stillRunning(processes: readonly ProcessInfo[]): string[] {
  const now = new Map(listProcesses().map((process) => [process.pid, process]));
  return processes
    .filter(({ pid, startTime }) => now.get(pid)?.startTime === startTime && now.get(pid)?.state !== "Z")
    .map(({ pid, command }) => `${pid} ${command}`);
}

/** Kills the processes that are still running, by their IDs. */
export function killAll(processes: readonly ProcessInfo[]): void {
  for (const left of new Set(stillRunning(processes))) {
    try {
      process.kill(Number.parseInt(left, 10), "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

function listProcesses(): ProcessInfo[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 120);
      return [
        { pid: Number(name), state: fields[0] ?? "", parent: Number(fields[1]), startTime: fields[19] ?? "", command },
      ];
    } catch {
      return [];
    }
  });
}
