import { AgentError } from "../errors.js";

/** An application's metrics endpoint. */
export interface ScrapeTarget {
  readonly port: number;
  readonly path: string;
}

/** Maximum size of one application's metrics in bytes, which bounds the agent's memory. */
const MAX_BODY_BYTES = 10 * 1024 * 1024;

/** Ports of the agent and Envoy: scraping one would recurse, or duplicate Envoy's metrics. */
const RESERVED = [15000, 15001, 15004, 15006, 15008, 15020, 15021, 15053, 15090];

/**
 * Parses ISTIO_PROMETHEUS_ANNOTATIONS: `{"scrape","port","path","targets":[{"port","path"}]}`.
 *
 * @throws AgentError `option`
 */
export function scrapeTargets(text: string, statusPort: number): ScrapeTarget[] {
  if (text === "") return [];
  const reject = (reason: string): never => {
    throw new AgentError("option", `ISTIO_PROMETHEUS_ANNOTATIONS: ${reason}`);
  };
  let given: { scrape?: string; port?: string; path?: string; targets?: { port?: string; path?: string }[] };
  try {
    given = JSON.parse(text) as typeof given;
  } catch {
    return reject("must be JSON");
  }
  if (given.scrape === "false") return [];
  const targets = given.targets?.length
    ? given.targets
    : [{ port: given.port || "80", path: given.path || "/metrics" }];
  return targets.map(({ port = "", path = "/metrics" }) => {
    const number = Number(port);
    if (!/^\d+$/.test(port) || number < 1 || number > 65535) return reject(`${JSON.stringify(port)} must be a port`);
    if (number === statusPort || RESERVED.includes(number)) return reject(`port ${number} is reserved`);
    return { port: number, path: path.startsWith("/") ? path : `/${path}` };
  });
}

/** Fetches metrics in text format. @param timeout milliseconds @throws AgentError `envoy` that names the URL */
export async function scrape(url: string, timeout: number): Promise<string> {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(timeout),
      headers: { accept: "text/plain;version=0.0.4" },
    });
    if (!response.ok) throw new Error(`HTTP status ${response.status}`);
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const piece of response.body ?? []) {
      size += piece.length;
      if (size > MAX_BODY_BYTES) throw new Error(`more than ${MAX_BODY_BYTES} bytes`);
      pieces.push(piece);
    }
    const text = Buffer.concat(pieces)
      .toString("utf8")
      .replace(/# EOF\n?$/, "");
    return text === "" || text.endsWith("\n") ? text : `${text}\n`;
  } catch (error) {
    throw AgentError.from(error, "envoy", `failed scraping metrics from ${url}`);
  }
}
