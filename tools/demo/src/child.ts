import { spawnGuarded } from "@istiod/pilot-agent/processes";
import { createInterface } from "node:readline";
import { openLogFile } from "./log-file.js";

/** A program of the mesh as a process, which ends with this one however that ends. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Settles when it has ended. */
  readonly ended: Promise<void>;
  /** Asks it to end, and kills it with all that it started after `graceMs`. Default: 2500. */
  stop(graceMs?: number): Promise<void>;
}

export interface ChildOptions {
  readonly name: string;
  /** For Node. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
  /** Files for standard output and standard error; they may be the same. */
  readonly log: { readonly stdout: string; readonly stderr: string };
  /** Called with each line of standard output. */
  readonly onLine?: (line: string) => void;
}

const GRACE_SECONDS = 2;

/** Starts a program of this repository by Node. */
export function startChild({ name, args, env, directory, log, onLine }: ChildOptions): Child {
  const { child } = spawnGuarded({
    command: process.execPath,
    args,
    env,
    directory,
    stdout: "pipe",
    stderr: "pipe",
    graceSeconds: GRACE_SECONDS,
  });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const stdout = openLogFile(log.stdout);
  const stderr = log.stderr === log.stdout ? stdout : openLogFile(log.stderr);
  child.stdout?.pipe(stdout, { end: false });
  child.stderr?.pipe(stderr, { end: false });
  child.once("close", () => {
    for (const file of new Set([stdout, stderr])) file.end();
  });
  if (onLine && child.stdout) createInterface(child.stdout).on("line", onLine);
  return {
    name,
    pid: child.pid ?? -1,
    ended,
    async stop(graceMs = 2500) {
      if (child.exitCode !== null || child.signalCode !== null) return;
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
