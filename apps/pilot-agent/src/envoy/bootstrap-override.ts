import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { AgentError } from "../errors.js";

/** Reads ISTIO_BOOTSTRAP_OVERRIDE as JSON. `$(HOST_IP)` is replaced by the node's address. @throws AgentError `file` */
export async function readBootstrapOverride(path: string, hostIp: string): Promise<string> {
  const bracketed = hostIp.includes(":") ? `[${hostIp}]` : hostIp;
  try {
    const text = (await readFile(path, "utf8"))
      .replaceAll("[$(HOST_IP)]", bracketed)
      .replaceAll("$(HOST_IP)", bracketed);
    return JSON.stringify(parse(text));
  } catch (error) {
    throw AgentError.from(error, "file", `bootstrap override ${path} cannot be read`);
  }
}
