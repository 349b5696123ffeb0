import { execFile } from "node:child_process";
import { promisify } from "node:util";

const LIMIT = 600_000;

/**
 * Runs a command to its end, and returns its output.
 *
 * @throws Error with the last line of its error output, if it fails or takes longer than ten minutes
 */
export async function run(command: string, args: readonly string[], cwd = "/"): Promise<string> {
  try {
    const options = { cwd, timeout: LIMIT, maxBuffer: 1 << 26 };
    return (await promisify(execFile)(command, [...args], options)).stdout;
  } catch (error) {
    const { code, stderr = "" } = error as { code?: unknown; stderr?: string };
    if (code === "ENOENT") throw new Error(`there is no ${command} on PATH`, { cause: error });
    const reason = stderr.trim().split("\n").at(-1) || `exit status ${String(code)}`;
    throw new Error(`${command} ${args[0] ?? ""}: ${reason}`, { cause: error });
  }
}
