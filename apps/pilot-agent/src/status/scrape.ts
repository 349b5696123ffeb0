import { AgentError } from "../errors.js";
import { MetricLines } from "./metric-lines.js";

/** An application's metrics endpoint. */
export interface ScrapeTarget {
  readonly port: number;
  readonly path: string;
}

/** Maximum size of one application's metrics in bytes, which bounds the agent's memory. */
const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_REDIRECTS = 5;

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

export interface Scrape {
  readonly url: string;
  /** Timeout in milliseconds, until the end of the response. */
  readonly timeout: number;
  readonly signal?: AbortSignal;
}

/** Well-formed lines of an application's metrics. */
export interface ApplicationMetrics {
  readonly text: string;
  /** The number of malformed lines. */
  readonly dropped: number;
}

/** Fetches an application's metrics in text format. @throws AgentError `envoy` that names the URL */
export async function scrapeApplication(scrape: Scrape): Promise<ApplicationMetrics> {
  try {
    const lines = new MetricLines();
    const texts: string[] = [];
    let size = 0;
    for await (const piece of await open(scrape)) {
      size += piece.length;
      if (size > MAX_BODY_BYTES) throw new Error(`more than ${MAX_BODY_BYTES} bytes`);
      texts.push(lines.push(Buffer.from(piece)));
    }
    texts.push(lines.end());
    return { text: texts.join(""), dropped: lines.dropped };
  } catch (error) {
    throw AgentError.from(error, "envoy", `failed scraping metrics from ${scrape.url}`);
  }
}

/**
 * Fetches Envoy's metrics and passes whole lines on as they arrive, because they may be larger than is kept in memory.
 *
 * @throws AgentError `envoy` that names the URL
 */
export async function scrapeEnvoy(scrape: Scrape, write: (lines: Buffer) => Promise<void>): Promise<void> {
  try {
    let rest = Buffer.alloc(0);
    for await (const piece of await open(scrape)) {
      const bytes = Buffer.concat([rest, piece]);
      const end = bytes.lastIndexOf("\n") + 1;
      rest = bytes.subarray(end);
      if (end > 0) await write(bytes.subarray(0, end));
    }
    if (rest.length > 0) await write(Buffer.concat([rest, Buffer.from("\n")]));
  } catch (error) {
    throw AgentError.from(error, "envoy", `failed scraping metrics from ${scrape.url}`);
  }
}

/** Sends a request and follows redirects to the same host and port. */
async function open({ url, timeout, signal }: Scrape): Promise<AsyncIterable<Uint8Array>> {
  const ends = AbortSignal.timeout(timeout);
  let target = new URL(url);
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const response = await fetch(target, {
      signal: signal ? AbortSignal.any([ends, signal]) : ends,
      headers: { accept: "text/plain;version=0.0.4" },
      redirect: "manual",
    });
    if (response.ok) return response.body ?? new Blob([]).stream();
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null || !URL.canParse(location, target.href))
      throw new Error(`HTTP status ${response.status}`);
    const next = new URL(location, target);
    if (next.origin !== target.origin) throw new Error(`redirect to another host or port (${next.origin})`);
    target = next;
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects`);
}
