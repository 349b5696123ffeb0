import type { ReadinessProbe } from "@istiod/istio-api/networking/v1alpha3/workload_group";
import { type Clock, systemClock } from "../clock.js";
import { reasonOf } from "../errors.js";
import { type Log, silentLog } from "../log.js";
import type { Health } from "../xds-proxy/agent-resources.js";
import { probeExec, probeGrpc, probeHttp, probeTcp } from "./probe.js";

export interface HealthCheckOptions {
  readonly probe: ReadinessProbe;
  /** Host of the application where the probe names none. */
  readonly host: string;
  readonly localAddress?: string;
  /** Throws while the proxy is not ready: an application behind it cannot be reached then. */
  readonly proxyReady?: () => Promise<void>;
  /** Told of the first state and of each change. */
  readonly report: (health: Health) => void;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** Looks after the health of an application that no kubelet looks after, on a machine outside Kubernetes. */
export class HealthCheck {
  readonly #options: HealthCheckOptions;
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;
  #stopped = false;
  #state: boolean | undefined;
  #inARow = { healthy: 0, unhealthy: 0 };

  constructor(options: HealthCheckOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  start(): void {
    this.#next(this.#options.probe.initialDelaySeconds * 1000);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #next(delay: number): void {
    if (this.#stopped) return;
    this.#cancel = this.#clock.after(
      delay,
      () => void this.#check().then(() => this.#next((this.#options.probe.periodSeconds || 10) * 1000)),
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
      health = { healthy: false, reason: reasonOf(error) };
    }
    this.#inARow = health.healthy
      ? { healthy: this.#inARow.healthy + 1, unhealthy: 0 }
      : { healthy: 0, unhealthy: this.#inARow.unhealthy + 1 };
    const enough = health.healthy
      ? this.#inARow.healthy >= (probe.successThreshold || 1)
      : this.#inARow.unhealthy >= (probe.failureThreshold || 1);
    if (!enough || this.#state === health.healthy || this.#stopped) return;
    this.#state = health.healthy;
    log.info(health.healthy ? "application is healthy" : `application is not healthy: ${health.reason}`);
    report(health);
  }

  async #probe(): Promise<void> {
    const { probe, host, localAddress } = this.#options;
    const timeout = (probe.timeoutSeconds || 1) * 1000;
    const from = localAddress === undefined ? {} : { localAddress };
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
          headers,
          timeout,
          ...from,
        });
        if (status < 200 || status >= 400) throw new Error(`HTTP status ${status}`);
        return;
      }
      case "tcpSocket":
        return probeTcp({ host: value.host || host, port: value.port, timeout, ...from });
      case "grpc":
        return probeGrpc({ host, port: value.port, service: value.service, timeout, ...from });
      case "exec":
        return probeExec(value.command, timeout);
      default:
        throw new Error("the probe says neither httpGet, tcpSocket, grpc nor exec");
    }
  }
}
