import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdminServer, crossSiteReason } from "@istiod/admin-server";
import { reasonOf } from "@istiod/runtime";
import { LimitedLog } from "@istiod/logging";
import type { AppProbes } from "../probes/app-probes.js";
import { Shares } from "../shares.js";
import { listenOnPort } from "../socket.js";
import { MergedMetrics, type MergedMetricsOptions } from "./merged-metrics.js";
import { isLocal, requestTarget } from "./request-checks.js";

export interface StatusServerOptions extends MergedMetricsOptions {
  readonly port: number;
  /** Default: all addresses. */
  readonly address?: string;
  /** Throws the reason while the proxy is not ready. */
  readonly ready: () => Promise<void>;
  /** Shuts the agent down without draining. */
  readonly quit: () => void;
  /** Starts draining Envoy, without shutting down. */
  readonly drain: () => void;
  /** Serves metrics to loopback callers only. Default: false. */
  readonly localMetricsOnly?: boolean;
  /** Runs the probes of `/app-health/…` and `/app-lifecycle/…`. */
  readonly probe?: AppProbes;
  /** Returns the DNS name table, for /debug/ndsz. */
  readonly names?: () => unknown;
  readonly limits?: Partial<StatusLimits>;
}

export interface StatusLimits {
  /** Connections. At the limit, the client with the most loses its oldest. Default: 512. */
  readonly connections: number;
  /** Scrapes at the same time, half of them for one client. Default: 8. */
  readonly scrapes: number;
  /** Probes at the same time, half of them for one client. Default: 64. */
  readonly probes: number;
}

/** Milliseconds for a whole request. No request has a body. */
const REQUEST_TIMEOUT = 10_000;

/** The status server (port 15020): readiness, merged metrics, application probes, drain and quit. */
export class StatusServer {
  readonly #options: StatusServerOptions;
  readonly #server: Server;
  readonly #log: LimitedLog;
  readonly #merged: MergedMetrics;
  readonly #scrapes: Shares;
  readonly #probes: Shares;
  #wasReady = false;

  constructor(options: StatusServerOptions) {
    this.#options = options;
    this.#log = new LimitedLog(options.log);
    this.#merged = new MergedMetrics(options);
    const { connections = 512, scrapes = 8, probes = 64 } = options.limits ?? {};
    this.#scrapes = new Shares(scrapes);
    this.#probes = new Shares(probes);
    this.#server = createAdminServer((request, response) => this.#serve(request, response), {
      maxConnections: connections,
      headersMs: REQUEST_TIMEOUT,
      requestMs: REQUEST_TIMEOUT,
      limited: () => options.metrics.statusRejected.inc({ reason: "connections" }),
    });
    this.#server.on("error", (error) => this.#log.write("warn", `status port: ${error.message}`));
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

  #serve(request: IncomingMessage, response: ServerResponse): void {
    // No request needs a body. The connection of one is closed, so that it is not read to its end.
    if (request.headers["content-length"] ?? request.headers["transfer-encoding"])
      response.setHeader("connection", "close");
    response.on("error", () => undefined);
    this.#handle(request, response).catch((error: unknown) => {
      this.#log.write("error", `status: ${reasonOf(error)}`);
      if (response.headersSent) response.destroy();
      else respond(response, 500, "");
    });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = requestTarget(request.url);
    if (!target) return respond(response, 400, "the request target must be a path without dot segments\n");
    const { quit, drain, names } = this.#options;
    switch (target.path) {
      case "/healthz/ready":
        return this.#handleReadiness(response);
      case "/metrics":
      case "/stats/prometheus":
        return this.#handleMetrics(request, response, target.search);
      case "/quitquitquit":
        return this.#handleAction(request, response, quit);
      case "/drain":
        return this.#handleAction(request, response, drain);
      case "/debug/ndsz":
        if (!this.#isPermitted(request, response)) return;
        return respond(response, 200, `${JSON.stringify(names?.() ?? {}, undefined, 2)}\n`, "application/json");
      default:
        return this.#handleProbe(request, response, target.path);
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

  async #handleMetrics(request: IncomingMessage, response: ServerResponse, query: string): Promise<void> {
    if (this.#options.localMetricsOnly === true && !isLocal(request))
      return respond(response, 403, "only requests from localhost are allowed\n");
    const release = this.#take("scrapes", this.#scrapes, request.socket.remoteAddress);
    if (!release) return respond(response, 503, "too many scrapes at the same time\n");
    try {
      const { accept, "x-prometheus-scrape-timeout-seconds": timeout } = request.headers;
      await this.#merged.write(response, { query, timeout: Number(timeout), accept });
    } finally {
      release();
    }
  }

  async #handleProbe(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const release = this.#take("probes", this.#probes, request.socket.remoteAddress);
    if (!release) return respond(response, 503, "too many probes at the same time\n");
    try {
      const outcome = await this.#options.probe?.(path, request.headers);
      if (outcome) respond(response, outcome.status, outcome.body);
      else respond(response, 404, "");
    } finally {
      release();
    }
  }

  #handleAction(request: IncomingMessage, response: ServerResponse, action: () => void): void {
    if (!this.#isPermitted(request, response)) return;
    if (request.method !== "POST") return respond(response, 405, "method must be POST\n");
    respond(response, 200, "OK");
    action();
  }

  /** Responds with 403 unless a tool on this machine sent the request. */
  #isPermitted(request: IncomingMessage, response: ServerResponse): boolean {
    const reason = isLocal(request) ? crossSiteReason(request) : "only requests from localhost are allowed";
    if (reason !== undefined) respond(response, 403, `${reason}\n`);
    return reason === undefined;
  }

  #take(reason: keyof StatusLimits, shares: Shares, client = ""): (() => void) | undefined {
    const release = shares.take(client);
    if (!release) this.#options.metrics.statusRejected.inc({ reason });
    return release;
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
