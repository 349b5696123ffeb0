import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { AgentError } from "../errors.js";
import { splitAddress } from "../proxy-config/load.js";

/** Configuration of the system's resolver (resolv.conf(5)). */
export interface ResolverConfig {
  readonly servers: readonly { readonly address: string; readonly port: number }[];
  /** Search domains without trailing dots. */
  readonly search: readonly string[];
}

/** Reads a resolv.conf. @throws AgentError `file` */
export async function readResolvConf(path: string): Promise<ResolverConfig> {
  try {
    return parseResolvConf(await readFile(path, "utf8"));
  } catch (error) {
    throw AgentError.from(error, "file", `${path} cannot be read`);
  }
}

/** Parses name servers and search domains. A server may have a port: `address:port` or `[address]:port`. */
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
