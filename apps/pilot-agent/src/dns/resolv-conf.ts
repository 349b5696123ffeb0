import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { AgentError } from "../errors.js";
import { splitAddress } from "../proxy-config/load.js";

/** What a machine's resolver is told (resolv.conf(5)). */
export interface ResolverConfig {
  readonly servers: readonly { readonly address: string; readonly port: number }[];
  /** Search domains without dots at their ends. */
  readonly search: readonly string[];
}

/** @throws AgentError `file` */
export async function readResolvConf(path: string): Promise<ResolverConfig> {
  try {
    return parseResolvConf(await readFile(path, "utf8"));
  } catch (error) {
    throw AgentError.from(error, "file", `${path} cannot be read`);
  }
}

/** Reads the lines that matter here; a server may be followed by a port, `address:port` or `[address]:port`. */
export function parseResolvConf(text: string): ResolverConfig {
  const servers: { address: string; port: number }[] = [];
  let search: string[] = [];
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/);
    const [first = ""] = values;
    if (keyword === "nameserver") {
      const bare = first.replace(/%.*$/, "");
      const parts = isIP(bare) ? { host: first, port: 53 } : splitAddress(first);
      if (parts) servers.push({ address: parts.host, port: parts.port });
    } else if (keyword === "search" || keyword === "domain") {
      search = values.map((domain) => domain.replace(/\.$/, "").toLowerCase()).filter((domain) => domain !== "");
    }
  }
  return { servers, search };
}
