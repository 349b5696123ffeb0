import { type ChildProcess, spawn } from "node:child_process";
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

const TERMINAL = `
import os, pty, select, sys
pid, master = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
print(pid, flush=True)
while True:
    readable = select.select([master, 0], [], [])[0]
    if 0 in readable: break
    try: os.read(master, 65536)
    except OSError: break
os.close(master)
os.waitpid(pid, 0)
`;

/** A process in its own terminal. Writing a line to the standard input of `terminal` closes the terminal. */
export interface TerminalProcess {
  readonly terminal: ChildProcess;
  readonly pid: number;
}

/** Starts a command in a new terminal. Needs Python 3. */
export async function startInTerminal(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<TerminalProcess> {
  const terminal = spawn("python3", ["-c", TERMINAL, ...command], {
    env: { ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const pid = await new Promise<number>((resolve, reject) => {
    terminal.stdout.setEncoding("utf8").once("data", (text: string) => resolve(Number(text)));
    terminal.once("error", reject);
    terminal.once("exit", () => reject(new Error("the terminal process exited")));
  });
  return { terminal, pid };
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
