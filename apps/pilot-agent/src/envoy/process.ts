import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { AgentError } from "../errors.js";
import type { Log } from "../log.js";
import { type GuardedProcessOptions, spawnGuarded } from "../processes/guarded-process.js";
import { reopenableOutput } from "../processes/reopenable-output.js";

export interface EnvoyProcessOptions {
  readonly binary: string;
  readonly args: readonly string[];
  /** Working directory, which relative paths in Envoy's configuration are resolved against. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory for temporary files of the output pipes. */
  readonly outputDirectory: string;
  readonly log: Log;
}

/** Envoy's exit status. */
export interface EnvoyExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running Envoy. */
export interface EnvoyProcess {
  readonly pid: number;
  /** Resolves when Envoy has exited and its output is written. */
  readonly exited: Promise<EnvoyExit>;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

/** Milliseconds to copy Envoy's last output, as its reader may have stopped reading. */
const COPY_TIMEOUT = 1000;
/** Seconds between SIGTERM and SIGKILL if the agent is killed. */
const GRACE_SECONDS = 2;

/**
 * Starts Envoy. It shares the agent's output, and is terminated with the agent even if the agent is killed.
 *
 * @throws AgentError `envoy` if it cannot be started
 */
export async function startEnvoy({
  binary,
  args,
  directory,
  env,
  outputDirectory,
  log,
}: EnvoyProcessOptions): Promise<EnvoyProcess> {
  await checkExecutable(binary, directory, env["PATH"]);
  const stdout = await reopenableOutput("stdout", outputDirectory, log);
  const stderr = await reopenableOutput("stderr", outputDirectory, log);
  const child = spawnEnvoy(
    { command: binary, args, directory, env, stdout: stdout.stdio, stderr: stderr.stdio, graceSeconds: GRACE_SECONDS },
    log,
  );
  const exit = new Promise<EnvoyExit>((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => reject(startError(error, binary)));
    });
  } finally {
    stdout.closeWriter();
    stderr.closeWriter();
  }
  const killWithAgent = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithAgent);
  const exited = exit.then(async (status) => {
    process.off("exit", killWithAgent);
    await settleWithin(COPY_TIMEOUT, Promise.all([stdout.copied, stderr.copied]));
    return status;
  });
  return { pid: child.pid ?? 0, exited, kill: (signal) => void child.kill(signal) };
}

/** Spawns Envoy with a guard, unless the agent is a container's first process, whose exit ends the container. */
function spawnEnvoy(options: GuardedProcessOptions, log: Log): ChildProcess {
  const { command, args, directory, env, stdout, stderr } = options;
  if (process.pid === 1) {
    return spawn(command, args, {
      cwd: directory,
      env: env as NodeJS.ProcessEnv,
      stdio: ["ignore", stdout, stderr],
      detached: true,
    });
  }
  const { child, guarded } = spawnGuarded(options);
  if (!guarded) log.warn("no /bin/sh found: Envoy keeps running if the agent is killed with SIGKILL");
  return child;
}

async function settleWithin(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)))]);
  clearTimeout(timer);
}

/** Checks that the binary exists and is executable. @throws AgentError `envoy` */
async function checkExecutable(binary: string, directory: string, path = ""): Promise<void> {
  const candidates = binary.includes("/")
    ? [resolve(directory, binary)]
    : path.split(delimiter).map((entry) => join(entry, binary));
  const errors: unknown[] = [];
  for (const candidate of candidates) {
    try {
      return await access(candidate, constants.X_OK);
    } catch (error) {
      errors.push(error);
    }
  }
  throw startError(
    errors.find((error) => (error as NodeJS.ErrnoException).code === "EACCES") ??
      errors[0] ??
      new Error("PATH is empty"),
    binary,
  );
}

function startError(error: unknown, binary: string): AgentError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") {
    return new AgentError(
      "envoy",
      `Envoy not found at ${binary}; set ENVOY_PATH, or binaryPath in the proxy configuration`,
      { cause: error },
    );
  }
  if (code === "EACCES")
    return new AgentError("envoy", `Envoy ${binary} is not executable by this user`, { cause: error });
  return AgentError.from(error, "envoy", `Envoy ${binary} cannot be started`);
}
