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
  /** Working directory: what relative paths in configuration are relative to. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory for what is needed while Envoy's output is set up. */
  readonly outputDirectory: string;
  readonly log: Log;
}

/** How Envoy ended. */
export interface EnvoyExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running Envoy. */
export interface EnvoyProcess {
  readonly pid: number;
  /** Settles when Envoy has ended and its output is written. */
  readonly exited: Promise<EnvoyExit>;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

/** Time for the last lines of Envoy's output to be copied, where nobody may be reading them. */
const COPY_WITHIN = 1000;
/** Seconds that Envoy has to end by itself where the agent was killed. */
const GRACE_SECONDS = 2;

/**
 * Starts Envoy, which ends with the agent however that ends. Its output goes to the agent's.
 *
 * @throws AgentError `envoy` where it cannot be started
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
      child.once("error", (error) => reject(cannotStart(error, binary)));
    });
  } finally {
    stdout.closeWriter();
    stderr.closeWriter();
  }
  const killWithAgent = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithAgent);
  const exited = exit.then(async (how) => {
    process.off("exit", killWithAgent);
    await within(COPY_WITHIN, Promise.all([stdout.copied, stderr.copied]));
    return how;
  });
  return { pid: child.pid ?? 0, exited, kill: (signal) => void child.kill(signal) };
}

/** The first process of a container takes all others with it and needs no guard. */
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
  if (!guarded) log.warn("there is no /bin/sh: Envoy goes on running if this agent is killed by SIGKILL");
  return child;
}

async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)))]);
  clearTimeout(timer);
}

/** @throws AgentError `envoy` */
async function checkExecutable(binary: string, directory: string, path = ""): Promise<void> {
  const places = binary.includes("/")
    ? [resolve(directory, binary)]
    : path.split(delimiter).map((entry) => join(entry, binary));
  const errors: unknown[] = [];
  for (const place of places) {
    try {
      return await access(place, constants.X_OK);
    } catch (error) {
      errors.push(error);
    }
  }
  throw cannotStart(
    errors.find((error) => (error as NodeJS.ErrnoException).code === "EACCES") ??
      errors[0] ??
      new Error("PATH is empty"),
    binary,
  );
}

function cannotStart(error: unknown, binary: string): AgentError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") {
    return new AgentError(
      "envoy",
      `Envoy is not at ${binary}: name it by ENVOY_PATH, or by binaryPath in the proxy configuration`,
      { cause: error },
    );
  }
  if (code === "EACCES") return new AgentError("envoy", `${binary} may not be executed by this user`, { cause: error });
  return AgentError.from(error, "envoy", `Envoy ${binary} cannot be started`);
}
