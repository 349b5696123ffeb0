import { readFile } from "node:fs/promises";
import { AgentError } from "../errors.js";
import type { TokenSource } from "./token-source.js";

/** Returns the source of a service account token in a file, which the kubelet rotates. An empty file has none. */
export function fileToken(path: string): TokenSource {
  return {
    name: path,
    async read() {
      try {
        return (await readFile(path, "utf8")).trim() || undefined;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw AgentError.from(error, "file", `token ${path} cannot be read`);
      }
    },
  };
}
