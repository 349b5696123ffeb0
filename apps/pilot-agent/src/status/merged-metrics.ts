import type { ServerResponse } from "node:http";
import { reasonOf } from "@istiod/runtime";
import { LimitedLog } from "@istiod/logging";
import { type PeerWorkload, StandardMetricsText } from "@istiod/standard-metrics";
import type { Log } from "../log.js";
import type { AgentMetrics } from "./metrics.js";
import { type Scrape, scrapeApplication, scrapeEnvoy, type ScrapeTarget } from "./scrape.js";

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

/** The metrics of the agent, Envoy and the application. The failure of one does not affect the others. */
export class MergedMetrics {
  readonly #options: MergedMetricsOptions;
  readonly #log: LimitedLog;

  constructor(options: MergedMetricsOptions) {
    this.#options = options;
    this.#log = new LimitedLog(options.log);
  }

  /**
   * Writes the metrics and ends the response.
   *
   * @param query query of Envoy's metrics, with its question mark
   * @param scraperTimeout seconds, from X-Prometheus-Scrape-Timeout-Seconds
   */
  async write(response: ServerResponse, query: string, scraperTimeout: number): Promise<void> {
    const { metrics, envoyMetrics, applications, applicationHost } = this.#options;
    metrics.scrapes.inc();
    const timeout = Math.ceil(
      Math.min(scraperTimeout > 0 ? scraperTimeout * 1000 : SCRAPE_TIMEOUT, MAX_SCRAPE_TIMEOUT),
    );
    const abort = new AbortController();
    response.once("close", () => abort.abort());
    const { signal } = abort;
    const scraped = applications.map(({ port, path }) =>
      this.#scrapeApplication(
        `http://${applicationHost}:${port}${path}`,
        Math.ceil(timeout * APPLICATION_SHARE),
        signal,
      ),
    );
    response.writeHead(200, { "content-type": metrics.registry.contentType });
    await write(response, await metrics.registry.metrics());
    if (envoyMetrics !== undefined) {
      const scrape = { url: `${envoyMetrics}${query}`, timeout, signal };
      await this.#writeEnvoy(scrape, response).catch((error: unknown) => this.#failed("envoy", reasonOf(error)));
    }
    for (const text of scraped) await write(response, await text);
    response.end();
  }

  /** Writes Envoy's metrics, with Istio's in place of the statistics that a stock Envoy records for them. */
  async #writeEnvoy(scrape: Scrape, response: ServerResponse): Promise<void> {
    const { workload } = this.#options;
    const standard = workload && new StandardMetricsText(workload);
    await scrapeEnvoy(scrape, (lines) => write(response, standard ? standard.push(lines) : lines));
    if (standard) for (const part of standard.end()) await write(response, part);
  }

  async #scrapeApplication(url: string, timeout: number, signal: AbortSignal): Promise<string> {
    try {
      const { text, dropped } = await scrapeApplication({ url, timeout, signal });
      if (dropped > 0) this.#failed("application", `metrics from ${url}: dropped ${dropped} malformed lines`);
      return text;
    } catch (error) {
      this.#failed("application", reasonOf(error));
      return "";
    }
  }

  #failed(type: "envoy" | "application", reason: string): void {
    this.#options.metrics.scrapeFailures.inc({ type });
    this.#log.write("warn", reason);
  }
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
