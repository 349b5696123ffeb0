import { spawn } from "node:child_process";

/** How a program ended. */
export interface Ran {
  /** Its exit code; undefined where it could not be started. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. Never throws. */
export type Run = (command: string, args: readonly string[], input?: string) => Promise<Ran>;

/** Runs programs on this machine. @param before words that go before each command line, such as `ip netns exec NAME` */
export function localRun(
  before: readonly string[] = [],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Run {
  return (command, args, input = "") =>
    new Promise((resolve) => {
      const [program = command, ...words] = [...before, command, ...args];
      const child = spawn(program, words, { env, stdio: ["pipe", "pipe", "pipe"] });
      let stdout = "";
      let stderr = "";
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
      // A program that ends without reading what it is given is judged by its exit code.
      child.stdin.on("error", () => undefined).end(input);
      child.once("error", (error) => resolve({ code: undefined, stdout, stderr: error.message }));
      child.once("close", (code) => resolve({ code: code ?? undefined, stdout, stderr }));
    });
}
