import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AgentError } from "../errors.js";
import { MetricLines } from "./metric-lines.js";
import { acceptOf, formatOf, type MetricsFormat } from "./metrics-format.js";

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

/** An application's metrics, which are read while they wait to be passed on. */
export interface ApplicationScrape {
  /**
   * Passes well-formed lines on as they arrive, in the format of the merged metrics. Returns the number of malformed
   * ones.
   *
   * @throws AgentError `envoy` that names the URL
   */
  pass(write: (lines: string) => Promise<void>): Promise<number>;
}

/** Starts to read an application's metrics in a format of the merged ones. */
export function scrapeApplication(scrape: Scrape, to: MetricsFormat): ApplicationScrape {
  const read = new PassThrough({ highWaterMark: MAX_BODY_BYTES, encoding: "utf8" });
  let dropped = 0;
  const lines = applicationLines(scrape, to, (count) => (dropped = count));
  const done = pipeline(Readable.from(lines, { objectMode: false }), read).catch((error: unknown) => {
    throw AgentError.from(error, "envoy", `failed scraping metrics from ${scrape.url}`);
  });
  read.on("error", () => undefined);
  done.catch(() => undefined);
  return {
    async pass(write) {
      try {
        for await (const part of read) await write(part as string);
      } catch {
        // `done` has the reason.
      }
      await done;
      return dropped;
    },
  };
}

async function* applicationLines(
  scrape: Scrape,
  to: MetricsFormat,
  droppedLines: (count: number) => void,
): AsyncGenerator<string> {
  const { contentType, body } = await open(scrape, to);
  const lines = new MetricLines({ from: formatOf(contentType), to });
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > MAX_BODY_BYTES) throw new Error(`more than ${MAX_BODY_BYTES} bytes`);
    yield lines.push(Buffer.from(piece));
  }
  yield lines.end();
  droppedLines(lines.dropped);
}

/**
 * Fetches Envoy's metrics and passes whole lines on as they arrive, because they may be larger than is kept in memory.
 *
 * @throws AgentError `envoy` that names the URL
 */
export async function scrapeEnvoy(scrape: Scrape, write: (lines: Buffer) => Promise<void>): Promise<void> {
  try {
    let rest = Buffer.alloc(0);
    for await (const piece of (await open(scrape, "text")).body) {
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

interface Response {
  readonly contentType: string | null;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Sends a request and follows redirects to the same host and port. */
async function open({ url, timeout, signal: given }: Scrape, format: MetricsFormat): Promise<Response> {
  const ends = AbortSignal.timeout(timeout);
  const signal = given ? AbortSignal.any([ends, given]) : ends;
  let target = new URL(url);
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const response = await fetch(target, {
      signal,
      headers: { accept: acceptOf[format] },
      redirect: "manual",
    });
    if (response.ok)
      return { contentType: response.headers.get("content-type"), body: response.body ?? new Blob([]).stream() };
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
