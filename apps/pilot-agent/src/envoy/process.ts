import { type ChildProcess, spawn } from "node:child_process";
import { AgentError } from "../errors.js";

export interface EnvoyProcessOptions {
  readonly binary: string;
  readonly args: readonly string[];
  /** Working directory: what relative paths in configuration are relative to. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How Envoy ended. */
export interface EnvoyExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running Envoy. */
export interface EnvoyProcess {
  readonly pid: number;
  readonly exited: Promise<EnvoyExit>;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

/** Starts Envoy. Its output goes where the agent's goes. @throws AgentError `envoy` where it cannot be started */
export async function startEnvoy({ binary, args, directory, env }: EnvoyProcessOptions): Promise<EnvoyProcess> {
  const child: ChildProcess = spawn(binary, args, {
    cwd: directory,
    env: env as NodeJS.ProcessEnv,
    stdio: ["ignore", "inherit", "inherit"],
    // A group of its own: Ctrl-C in a terminal goes to the agent, which drains Envoy before it ends it.
    detached: true,
  });
  const exited = new Promise<EnvoyExit>((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(cannotStart(error, binary)));
  });
  const killWithAgent = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithAgent);
  void exited.then(() => process.off("exit", killWithAgent));
  return { pid: child.pid ?? 0, exited, kill: (signal) => void child.kill(signal) };
}

function cannotStart(error: Error, binary: string): AgentError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") {
    return new AgentError("envoy", `Envoy is not at ${binary}: name it by ENVOY_PATH, or by binaryPath in the proxy configuration`, { cause: error });
  }
  if (code === "EACCES") return new AgentError("envoy", `${binary} may not be executed by this user`, { cause: error });
  return AgentError.from(error, "envoy", `Envoy ${binary} cannot be started`);
}
