import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";

/** A program of the mesh that runs beside this one; what it says goes to a file. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Settles when it has ended, with its exit code. */
  readonly ended: Promise<number | null>;
  /** Asks it to end, and ends it with all that it started after `graceMs`. Default: 2500. */
  stop(graceMs?: number): Promise<void>;
}

/** Starts a program of this repository by Node. */
export function startChild(name: string, args: readonly string[], env: NodeJS.ProcessEnv, cwd: string, log: string): Child {
  const child: ChildProcess = spawn(process.execPath, [...args], { env, cwd, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const file = createWriteStream(log, { flags: "a" });
  child.stdout?.pipe(file, { end: false });
  child.stderr?.pipe(file, { end: false });
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
    child.once("error", () => resolve(-1));
  });
  void ended.then(() => file.end());
  return {
    name,
    pid: child.pid ?? -1,
    ended,
    async stop(graceMs = 2500) {
      if (child.exitCode !== null) return;
      child.kill("SIGTERM");
      const hard = setTimeout(() => killGroup(child.pid), graceMs);
      await ended;
      clearTimeout(hard);
    },
  };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
