import { AgentError } from "../errors.js";

/** Where an application gives its metrics. */
export interface ScrapeTarget {
  readonly port: number;
  readonly path: string;
}

/** More than this of one application's metrics is refused, so that it cannot fill the agent's memory. */
const LARGEST_BODY = 10 * 1024 * 1024;

/** Ports that are the mesh's own: scraping one would ask the agent itself, or count Envoy twice. */
const RESERVED = [15000, 15001, 15004, 15006, 15008, 15020, 15021, 15053, 15090];

/**
 * Reads ISTIO_PROMETHEUS_ANNOTATIONS: `{"scrape","port","path","targets":[{"port","path"}]}`. @throws AgentError
 * `option`
 */
export function scrapeTargets(text: string, statusPort: number): ScrapeTarget[] {
  if (text === "") return [];
  const refuse = (reason: string): never => {
    throw new AgentError("option", `ISTIO_PROMETHEUS_ANNOTATIONS: ${reason}`);
  };
  let given: { scrape?: string; port?: string; path?: string; targets?: { port?: string; path?: string }[] };
  try {
    given = JSON.parse(text) as typeof given;
  } catch {
    return refuse("it is not JSON");
  }
  if (given.scrape === "false") return [];
  const targets = given.targets?.length
    ? given.targets
    : [{ port: given.port || "80", path: given.path || "/metrics" }];
  return targets.map(({ port = "", path = "/metrics" }) => {
    const number = Number(port);
    if (!/^\d+$/.test(port) || number < 1 || number > 65535) return refuse(`${JSON.stringify(port)} is not a port`);
    if (number === statusPort || RESERVED.includes(number)) return refuse(`port ${number} is the mesh's own`);
    return { port: number, path: path.startsWith("/") ? path : `/${path}` };
  });
}

/** Fetches metrics as text. @param timeout milliseconds @throws AgentError `envoy` naming the place */
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
      if (size > LARGEST_BODY) throw new Error(`more than ${LARGEST_BODY} bytes`);
      pieces.push(piece);
    }
    const text = Buffer.concat(pieces)
      .toString("utf8")
      .replace(/# EOF\n?$/, "");
    return text === "" || text.endsWith("\n") ? text : `${text}\n`;
  } catch (error) {
    throw AgentError.from(error, "envoy", `metrics of ${url}`);
  }
}
