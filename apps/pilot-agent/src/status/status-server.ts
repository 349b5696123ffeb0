import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { reasonOf } from "../errors.js";
import type { Log } from "../log.js";
import type { AppProbes } from "../probes/app-probes.js";
import { listenOnPort } from "../socket.js";
import type { AgentMetrics } from "./metrics.js";
import { scrape, type ScrapeTarget } from "./scrape.js";

export interface StatusServerOptions {
  readonly port: number;
  /** Default: all addresses. */
  readonly address?: string;
  /** Throws the reason while the proxy is not ready. */
  readonly ready: () => Promise<void>;
  /** Shuts the agent down without draining. */
  readonly quit: () => void;
  /** Starts draining Envoy, without shutting down. */
  readonly drain: () => void;
  readonly metrics: AgentMetrics;
  /** Serves metrics to loopback callers only. Default: false. */
  readonly localMetricsOnly?: boolean;
  /** URL of Envoy's metrics; absent without Envoy. */
  readonly envoyMetrics?: string;
  readonly applications: readonly ScrapeTarget[];
  /** Host of the application, as in a URL. */
  readonly applicationHost: string;
  /** Runs the probes of `/app-health/…` and `/app-lifecycle/…`. */
  readonly probe?: AppProbes;
  /** Returns the DNS name table, for /debug/ndsz. */
  readonly names?: () => unknown;
  readonly log: Log;
}

/** Default timeout of a scrape in milliseconds, if the scraper does not send its own. */
const SCRAPE_TIMEOUT = 10_000;

/** The status server (port 15020): readiness, merged metrics, application probes, drain and quit. */
export class StatusServer {
  readonly #options: StatusServerOptions;
  readonly #server: Server;
  #wasReady = false;

  constructor(options: StatusServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        options.log.error(`status: ${reasonOf(error)}`);
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    });
  }

  /** @throws AgentError `address` */
  async start(): Promise<void> {
    await listenOnPort(this.#server, this.#options.port, this.#options.address, "statusPort of PROXY_CONFIG");
  }

  /** The bound port. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? "/", "http://agent");
    const { quit, drain, names, probe } = this.#options;
    switch (pathname) {
      case "/healthz/ready":
        return this.#handleReadiness(response);
      case "/metrics":
      case "/stats/prometheus":
        return this.#handleMetrics(request, response, search);
      case "/quitquitquit":
        return this.#handleLocal(request, response, "POST", quit);
      case "/drain":
        return this.#handleLocal(request, response, "POST", drain);
      case "/debug/ndsz":
        if (!isLocal(request)) return respond(response, 403, "only requests from localhost are allowed\n");
        return respond(response, 200, `${JSON.stringify(names?.() ?? {}, undefined, 2)}\n`, "application/json");
      default: {
        const outcome = probe?.(pathname, request.headers);
        if (!outcome) return respond(response, 404, "");
        const { status, body } = await outcome;
        return respond(response, status, body);
      }
    }
  }

  async #handleReadiness(response: ServerResponse): Promise<void> {
    const { ready, log } = this.#options;
    try {
      await ready();
    } catch (error) {
      this.#wasReady = false;
      log.debug(`Envoy proxy is NOT ready: ${reasonOf(error)}`);
      return respond(response, 503, `${reasonOf(error)}\n`);
    }
    if (!this.#wasReady) log.info("Envoy proxy is ready");
    this.#wasReady = true;
    respond(response, 200, "");
  }

  /** Serves the metrics of the agent, Envoy and the application. The failure of one does not affect the others. */
  async #handleMetrics(request: IncomingMessage, response: ServerResponse, query: string): Promise<void> {
    if (this.#options.localMetricsOnly === true && !isLocal(request))
      return respond(response, 403, "only requests from localhost are allowed\n");
    const { metrics, envoyMetrics, applications, applicationHost, log } = this.#options;
    metrics.scrapes.inc();
    const scraperTimeout = Number(request.headers["x-prometheus-scrape-timeout-seconds"]);
    const timeout = scraperTimeout > 0 ? scraperTimeout * 1000 : SCRAPE_TIMEOUT;
    const scrapePart = (type: "envoy" | "application", url: string): Promise<string> =>
      scrape(url, timeout).catch((error: unknown) => {
        metrics.scrapeFailures.inc({ type });
        log.warn(reasonOf(error));
        return "";
      });
    const parts = await Promise.all([
      envoyMetrics === undefined ? "" : scrapePart("envoy", `${envoyMetrics}${query}`),
      ...applications.map(({ port, path }) => scrapePart("application", `http://${applicationHost}:${port}${path}`)),
    ]);
    respond(response, 200, (await metrics.registry.metrics()) + parts.join(""), metrics.registry.contentType);
  }

  #handleLocal(request: IncomingMessage, response: ServerResponse, method: string, action: () => void): void {
    if (!isLocal(request)) return respond(response, 403, "only requests from localhost are allowed\n");
    if (request.method !== method) return respond(response, 405, `method must be ${method}\n`);
    respond(response, 200, "OK");
    action();
  }
}

function respond(
  response: ServerResponse,
  status: number,
  body: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, body === "" ? {} : { "content-type": contentType });
  response.end(body);
}

/** Reports whether a request comes from a loopback address. */
function isLocal({ socket }: IncomingMessage): boolean {
  const address = socket.remoteAddress?.replace(/^::ffff:/, "") ?? "";
  return address.startsWith("127.") || address === "::1";
}
