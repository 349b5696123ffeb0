import type { ReadinessProbe } from "@istiod/istio-api/networking/v1alpha3/workload_group";
import { type Clock, reasonOf, systemClock } from "@istiod/runtime";
import { type Log, silentLog } from "../log.js";
import type { Health } from "../xds-proxy/agent-resources.js";
import { probeGrpc } from "./grpc-probe.js";
import { probeHttp } from "./http-probe.js";
import { probeExec, probeTcp } from "./probe.js";

export interface HealthCheckOptions {
  readonly probe: ReadinessProbe;
  /** Host of the application, unless the probe sets one. */
  readonly host: string;
  readonly localAddress?: string;
  /** Offers HTTP/2 in probes over HTTPS. Default: true. */
  readonly offersHttp2?: boolean;
  /** Throws while the proxy is not ready. Then the application cannot be reached and is unhealthy. */
  readonly proxyReady?: () => Promise<void>;
  /** Called with the first state and after each change. */
  readonly report: (health: Health) => void;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** Characters of a reason, which may be a line that a command of the application printed. */
const MAX_REASON_LENGTH = 1024;

/** Health checks of an application outside Kubernetes, where no kubelet runs probes. */
export class HealthCheck {
  readonly #options: HealthCheckOptions;
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;
  #stopped = false;
  #state: boolean | undefined;
  #consecutive = { healthy: 0, unhealthy: 0 };

  constructor(options: HealthCheckOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  start(): void {
    this.#schedule(this.#options.probe.initialDelaySeconds * 1000);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #schedule(delay: number): void {
    if (this.#stopped) return;
    this.#cancel = this.#clock.after(
      delay,
      () =>
        void this.#check()
          .catch((error: unknown) => this.#options.log?.error(`health check: ${reasonOf(error)}`))
          .then(() => this.#schedule((this.#options.probe.periodSeconds || 10) * 1000)),
    );
  }

  async #check(): Promise<void> {
    const { probe, report, proxyReady, log = silentLog } = this.#options;
    let health: Health;
    try {
      await proxyReady?.();
      await this.#probe();
      health = { healthy: true };
    } catch (error) {
      health = { healthy: false, reason: reasonOf(error).slice(0, MAX_REASON_LENGTH) };
    }
    this.#consecutive = health.healthy
      ? { healthy: this.#consecutive.healthy + 1, unhealthy: 0 }
      : { healthy: 0, unhealthy: this.#consecutive.unhealthy + 1 };
    const reachesThreshold = health.healthy
      ? this.#consecutive.healthy >= (probe.successThreshold || 1)
      : this.#consecutive.unhealthy >= (probe.failureThreshold || 1);
    if (!reachesThreshold || this.#state === health.healthy || this.#stopped) return;
    this.#state = health.healthy;
    log.info(
      health.healthy
        ? "success threshold hit, marking as healthy"
        : `failure threshold hit, marking as unhealthy: ${health.reason}`,
    );
    report(health);
  }

  async #probe(): Promise<void> {
    const { probe, host, localAddress, offersHttp2 } = this.#options;
    const timeout = (probe.timeoutSeconds || 1) * 1000;
    const source = localAddress === undefined ? {} : { localAddress };
    const { case: kind, value } = probe.healthCheckMethod;
    switch (kind) {
      case "httpGet": {
        const headers = {
          "user-agent": "istio-probe/1.0",
          ...Object.fromEntries(value.httpHeaders.map((header) => [header.name.toLowerCase(), header.value])),
        };
        const { status } = await probeHttp({
          host: value.host || host,
          port: value.port,
          path: value.path || "/",
          https: value.scheme.toLowerCase() === "https",
          ...(offersHttp2 !== undefined && { offersHttp2 }),
          headers,
          timeout,
          ...source,
        });
        if (status < 200 || status >= 400) throw new Error(`HTTP status ${status}`);
        return;
      }
      case "tcpSocket":
        return probeTcp({ host: value.host || host, port: value.port, timeout, ...source });
      case "grpc":
        return probeGrpc({ host, port: value.port, service: value.service, timeout, ...source });
      case "exec":
        return probeExec(value.command, timeout);
      default:
        throw new Error("probe has none of httpGet, tcpSocket, grpc and exec");
    }
  }
}
