import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Duplex } from "node:stream";

export interface GuardedProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Working directory. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard output and standard error, as in `child_process.spawn`. Standard input is /dev/null. */
  readonly stdout: number | "inherit" | "pipe";
  readonly stderr: number | "inherit" | "pipe";
  /** Whole seconds between SIGTERM and SIGKILL after the parent's death. */
  readonly graceSeconds: number;
}

/** A child process that does not outlive its parent, in its own session and process group. */
export interface GuardedProcess {
  readonly child: ChildProcess;
  /** Reports whether the process is guarded; false where there is no /bin/sh. */
  readonly guarded: boolean;
}

const SHELL = "/bin/sh";

/**
 * Descriptor 3 is a pipe whose other end only the parent holds. The guard runs in the command's process group. It reads
 * a line when the command has exited, and end-of-file when the parent has exited, even by SIGKILL. While it is a member
 * of the group, the group's ID is not reused.
 */
const SCRIPT = `
(
  trap '' HUP INT TERM
  if read -r line <&3; then exit 0; fi
  kill -TERM -$$
  left=$1
  while [ "$left" -gt 0 ] && kill -0 $$; do sleep 1; left=$((left - 1)); done
  kill -KILL -$$
) </dev/null >/dev/null 2>&1 &
shift
exec "$@" 3<&-
`;

/**
 * Starts a process that is terminated when this process exits, even by SIGKILL. Needs no privileges.
 *
 * The shell that starts the guard is replaced by the command, so the child's process ID and exit status are the
 * command's. A command that cannot be executed exits with status 126 or 127.
 */
export function spawnGuarded(options: GuardedProcessOptions): GuardedProcess {
  const { command, args, directory, env, stdout, stderr, graceSeconds } = options;
  const common = { cwd: directory, env: env as NodeJS.ProcessEnv, detached: true };
  if (!existsSync(SHELL)) {
    return { child: spawn(command, args, { ...common, stdio: ["ignore", stdout, stderr] }), guarded: false };
  }
  const line = [...assignments(env), command, ...args];
  const child = spawn(SHELL, ["-c", SCRIPT, "guard", String(graceSeconds), ...line], {
    ...common,
    stdio: ["ignore", stdout, stderr, "pipe"],
  });
  const pipe = child.stdio[3] as (Duplex & { unref?(): void }) | null | undefined;
  pipe?.on("error", () => undefined);
  pipe?.unref?.();
  child.once("exit", () => pipe?.end("ended\n"));
  return { child, guarded: true };
}

/** Returns env(1) arguments for variables whose names are not identifiers, which shells drop. */
function assignments(env: Readonly<Record<string, string | undefined>>): string[] {
  const lost = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || /^[A-Za-z_]\w*$/.test(name) ? [] : [`${name}=${value}`],
  );
  return lost.length === 0 ? [] : ["env", ...lost];
}
