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
  /** Absent: all addresses. */
  readonly address?: string;
  /** Throws, saying what is missing, while the proxy is not ready. */
  readonly ready: () => Promise<void>;
  /** Ends the agent at once, without draining. */
  readonly quit: () => void;
  /** Begins to drain and goes on serving. */
  readonly drain: () => void;
  readonly metrics: AgentMetrics;
  /** Metrics are given to callers of this machine only. Default false. */
  readonly localMetricsOnly?: boolean;
  /** Envoy's own metrics; absent where there is no Envoy. */
  readonly envoyMetrics?: string;
  readonly applications: readonly ScrapeTarget[];
  /** Host of the application. */
  readonly applicationHost: string;
  /** Answers `/app-health/…` and `/app-lifecycle/…`; `undefined` for a path that is no probe. */
  readonly probe?: AppProbes;
  /** The table of names, for /debug/ndsz. */
  readonly names?: () => unknown;
  readonly log: Log;
}

/** Milliseconds for one part of a scrape where the scraper does not say how long it waits. */
const SCRAPE_TIMEOUT = 10_000;

/** The agent's own port (15020): readiness, merged metrics, and the ends of a pod's life. */
export class StatusServer {
  readonly #options: StatusServerOptions;
  readonly #server: Server;
  #wasReady = false;

  constructor(options: StatusServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
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

  /** The port in use. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? "/", "http://agent");
    const { quit, drain, names, probe } = this.#options;
    switch (pathname) {
      case "/healthz/ready":
        return this.#readiness(response);
      case "/metrics":
      case "/stats/prometheus":
        return this.#metrics(request, response, search);
      case "/quitquitquit":
        return this.#local(request, response, "POST", quit);
      case "/drain":
        return this.#local(request, response, "POST", drain);
      case "/debug/ndsz":
        if (!isLocal(request)) return end(response, 403, "only from this machine\n");
        return end(response, 200, `${JSON.stringify(names?.() ?? {}, undefined, 2)}\n`, "application/json");
      default: {
        const outcome = probe?.(pathname, request.headers);
        if (!outcome) return end(response, 404, "");
        const { status, body } = await outcome;
        return end(response, status, body);
      }
    }
  }

  async #readiness(response: ServerResponse): Promise<void> {
    const { ready, log } = this.#options;
    try {
      await ready();
    } catch (error) {
      this.#wasReady = false;
      log.debug(`not ready: ${reasonOf(error)}`);
      return end(response, 503, `${reasonOf(error)}\n`);
    }
    if (!this.#wasReady) log.info("proxy is ready");
    this.#wasReady = true;
    end(response, 200, "");
  }

  /**
   * The agent's metrics, Envoy's, and the application's, one after the other. A part that fails does not take the
   * others along.
   */
  async #metrics(request: IncomingMessage, response: ServerResponse, query: string): Promise<void> {
    if (this.#options.localMetricsOnly === true && !isLocal(request))
      return end(response, 403, "only from this machine\n");
    const { metrics, envoyMetrics, applications, applicationHost, log } = this.#options;
    metrics.scrapes.inc();
    const asked = Number(request.headers["x-prometheus-scrape-timeout-seconds"]);
    const timeout = asked > 0 ? asked * 1000 : SCRAPE_TIMEOUT;
    const part = (type: "envoy" | "application", url: string): Promise<string> =>
      scrape(url, timeout).catch((error: unknown) => {
        metrics.scrapeFailures.inc({ type });
        log.warn(reasonOf(error));
        return "";
      });
    const parts = await Promise.all([
      envoyMetrics === undefined ? "" : part("envoy", `${envoyMetrics}${query}`),
      ...applications.map(({ port, path }) => part("application", `http://${applicationHost}:${port}${path}`)),
    ]);
    end(response, 200, (await metrics.registry.metrics()) + parts.join(""), metrics.registry.contentType);
  }

  #local(request: IncomingMessage, response: ServerResponse, method: string, action: () => void): void {
    if (!isLocal(request)) return end(response, 403, "only from this machine\n");
    if (request.method !== method) return end(response, 405, `${method} is expected\n`);
    end(response, 200, "OK");
    action();
  }
}

function end(response: ServerResponse, status: number, body: string, contentType = "text/plain; charset=utf-8"): void {
  response.writeHead(status, body === "" ? {} : { "content-type": contentType });
  response.end(body);
}

/** Whether a request comes from a loopback address. */
function isLocal({ socket }: IncomingMessage): boolean {
  const address = socket.remoteAddress?.replace(/^::ffff:/, "") ?? "";
  return address.startsWith("127.") || address === "::1";
}
