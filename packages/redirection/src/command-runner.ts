import { spawn } from "node:child_process";
import { RedirectionError } from "./errors.js";

/** Result of a command. */
export interface CommandResult {
  /** Exit code; `undefined` if the command could not be started or was killed. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to completion. Never rejects. */
export type CommandRunner = (command: string, args: readonly string[], input?: string) => Promise<CommandResult>;

/** Returns a runner of local commands. @param prefix words before each command line, such as `ip netns exec NAME` */
export function localRunner(
  prefix: readonly string[] = [],
  env: Readonly<Record<string, string | undefined>> = process.env,
): CommandRunner {
  return (command, args, input = "") =>
    new Promise((resolve) => {
      const [program = command, ...words] = [...prefix, command, ...args];
      const child = spawn(program, words, { env, stdio: ["pipe", "pipe", "pipe"] });
      let stdout = "";
      let stderr = "";
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
      // The exit code decides, even if the command does not read its input.
      child.stdin.on("error", () => undefined).end(input);
      child.once("error", (error) => resolve({ code: undefined, stdout, stderr: error.message }));
      child.once("close", (code) => resolve({ code: code ?? undefined, stdout, stderr }));
    });
}

/** Runs a command that must succeed. @throws RedirectionError `command` with the command line and its error output */
export async function runChecked(
  run: CommandRunner,
  command: string,
  args: readonly string[],
  input?: string,
): Promise<void> {
  const { code, stderr } = await run(command, args, input);
  if (code !== 0)
    throw new RedirectionError("command", `${[command, ...args].join(" ")}: ${stderr.trim() || `exit code ${code}`}`);
}
