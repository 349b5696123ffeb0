import { readFile } from "node:fs/promises";
import { AgentError } from "../errors.js";

/**
 * Reads the workload's service account token. Read it for each request, as the kubelet rotates it.
 *
 * @returns `undefined` if the file is absent or empty; a client certificate may authenticate the workload instead
 * @throws AgentError `file` if the file exists and cannot be read
 */
export async function readToken(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw AgentError.from(error, "file", `token ${path} cannot be read`);
  }
}
