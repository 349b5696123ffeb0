import { readFile } from "node:fs/promises";
import { AgentError } from "../errors.js";

/**
 * The token by which the workload proves who it is, read anew each time because it is replaced while the agent runs.
 *
 * @returns `undefined` where the file is absent or empty: a client certificate may do instead
 * @throws AgentError `file` where it is there but cannot be read
 */
export async function readToken(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw AgentError.from(error, "file", `token ${path} cannot be read`);
  }
}
