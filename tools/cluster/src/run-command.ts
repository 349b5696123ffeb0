import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export type CommandEnv = Readonly<Record<string, string | undefined>>;

interface CommandOptions {
  readonly cwd: string;
  readonly env: CommandEnv;
  /** Called for every line of the error output. */
  readonly onLine: () => void;
}

interface CommandResult {
  readonly status: number | null;
  readonly output: string;
  /** The command does not exist. */
  readonly missing: boolean;
}

/** Runs a command until it ends. The command ends with this process. */
export function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env, onLine }: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env: env as NodeJS.ProcessEnv, stdio: ["ignore", "pipe", "pipe"] });
    const endWithThis = (): void => void child.kill();
    process.once("exit", endWithThis);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    createInterface({ input: child.stderr }).on("line", onLine);
    const done = (result: CommandResult): void => {
      process.off("exit", endWithThis);
      resolve(result);
    };
    child.once("error", (error) =>
      done({ status: null, output: error.message, missing: (error as NodeJS.ErrnoException).code === "ENOENT" }),
    );
    child.once("close", (status) => done({ status, output, missing: false }));
  });
}

export function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) || "it says nothing";
}

/** A command that failed for a reason that only its output tells. */
export class FailedCommandError extends Error {
  override readonly name = "FailedCommandError";
  readonly output: string;

  constructor(command: string, output: string) {
    super(`${command} failed: ${lastLine(output)}`);
    this.output = output;
  }
}
