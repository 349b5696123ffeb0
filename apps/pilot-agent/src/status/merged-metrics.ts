import type { ServerResponse } from "node:http";
import { reasonOf } from "@istiod/runtime";
import { LimitedLog } from "@istiod/logging";
import { type PeerWorkload, StandardMetricsText } from "@istiod/standard-metrics";
import type { Log } from "../log.js";
import type { AgentMetrics } from "./metrics.js";
import { acceptedOpenMetrics, type MetricsFormat, OPEN_METRICS_TYPE } from "./metrics-format.js";
import { openMetricsOf } from "./open-metrics-comments.js";
import { type ApplicationScrape, type Scrape, scrapeApplication, scrapeEnvoy, type ScrapeTarget } from "./scrape.js";

export interface MergedMetricsOptions {
  readonly metrics: AgentMetrics;
  /** URL of Envoy's metrics; absent without Envoy. */
  readonly envoyMetrics?: string;
  /** The workload of the proxy, for the labels of Istio's metrics. Default: none, and Envoy's metrics as they are. */
  readonly workload?: PeerWorkload;
  readonly applications: readonly ScrapeTarget[];
  /** Host of the application, as in a URL. */
  readonly applicationHost: string;
  readonly log: Log;
}

/** Timeouts of a scrape in milliseconds: the default, and the longest that a scraper can ask for. */
const SCRAPE_TIMEOUT = 10_000;
const MAX_SCRAPE_TIMEOUT = 60_000;
/** Part of the scraper's timeout for applications, so that a slow one does not make it discard Envoy's metrics. */
const APPLICATION_SHARE = 0.8;
const END_OF_OPEN_METRICS = "# EOF\n";

/** Properties of a scraper's request. */
export interface ScrapeRequest {
  /** Query of Envoy's metrics, with its question mark. */
  readonly query: string;
  /** Seconds, from X-Prometheus-Scrape-Timeout-Seconds. */
  readonly timeout: number;
  /** The header `accept`. */
  readonly accept: string | undefined;
}

interface OpenScrape {
  readonly url: string;
  readonly scrape: ApplicationScrape;
}

/** The metrics of the agent, Envoy and the application. The failure of one does not affect the others. */
export class MergedMetrics {
  readonly #options: MergedMetricsOptions;
  readonly #log: LimitedLog;

  constructor(options: MergedMetricsOptions) {
    this.#options = options;
    this.#log = new LimitedLog(options.log);
  }

  /**
   * Writes the metrics and ends the response. They are in OpenMetrics, with the exemplars of applications, if there are
   * applications and the scraper prefers it.
   */
  async write(response: ServerResponse, request: ScrapeRequest): Promise<void> {
    const { metrics, envoyMetrics, applications, applicationHost } = this.#options;
    metrics.scrapes.inc();
    const seconds = request.timeout;
    const timeout = Math.ceil(Math.min(seconds > 0 ? seconds * 1000 : SCRAPE_TIMEOUT, MAX_SCRAPE_TIMEOUT));
    const version = applications.length > 0 ? acceptedOpenMetrics(request.accept) : undefined;
    const format = version === undefined ? "text" : "openmetrics";
    const abort = new AbortController();
    response.once("close", () => abort.abort());
    const { signal } = abort;
    const scraped = applications.map(({ port, path }): OpenScrape => {
      const url = `http://${applicationHost}:${port}${path}`;
      const share = Math.ceil(timeout * APPLICATION_SHARE);
      return { url, scrape: scrapeApplication({ url, timeout: share, signal }, format) };
    });
    const openMetrics = `${OPEN_METRICS_TYPE}; version=${version}; charset=utf-8`;
    response.writeHead(200, { "content-type": version === undefined ? metrics.registry.contentType : openMetrics });
    await write(response, inFormat(await metrics.registry.metrics(), format));
    if (envoyMetrics !== undefined) {
      const scrape = { url: `${envoyMetrics}${request.query}`, timeout, signal };
      await this.#writeEnvoy(scrape, format, response).catch((error: unknown) =>
        this.#failed("envoy", reasonOf(error)),
      );
    }
    for (const application of scraped) await this.#writeApplication(application, response);
    response.end(version === undefined ? "" : END_OF_OPEN_METRICS);
  }

  /** Writes Envoy's metrics, with Istio's in place of the statistics that a stock Envoy records for them. */
  async #writeEnvoy(scrape: Scrape, format: MetricsFormat, response: ServerResponse): Promise<void> {
    const { workload } = this.#options;
    const standard = workload && new StandardMetricsText(workload);
    const pass = (lines: Buffer | string): Promise<void> => write(response, inFormat(lines, format));
    await scrapeEnvoy(scrape, (lines) => pass(standard ? standard.push(lines) : lines));
    if (standard) for (const part of standard.end()) await pass(part);
  }

  /** Writes an application's metrics as they arrive. */
  async #writeApplication({ url, scrape }: OpenScrape, response: ServerResponse): Promise<void> {
    try {
      const dropped = await scrape.pass((lines) => write(response, lines));
      if (dropped > 0) this.#failed("application", `metrics from ${url}: dropped ${dropped} malformed lines`);
    } catch (error) {
      this.#failed("application", reasonOf(error));
    }
  }

  #failed(type: "envoy" | "application", reason: string): void {
    this.#options.metrics.scrapeFailures.inc({ type });
    this.#log.write("warn", reason);
  }
}

/** Returns whole lines of the agent or Envoy, which have no timestamps, in a format. */
function inFormat(lines: Buffer | string, format: MetricsFormat): Buffer | string {
  return format === "text" ? lines : openMetricsOf(lines.toString("utf8"));
}

/** Writes a part and waits until the client has read enough of the earlier ones. */
async function write(response: ServerResponse, part: string | Buffer): Promise<void> {
  if (part.length === 0 || response.destroyed || response.write(part)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.once("drain", done).once("close", done);
  });
}
