import type { Closers } from "@istiod/runtime";
import type { WorkloadIdentity } from "../certificates/workload-identity.js";
import type { DnsService } from "../dns/dns-service.js";
import type { EnvoyReadiness } from "../envoy/readiness.js";
import { drainEnvoy } from "../envoy/termination.js";
import { AgentError } from "../errors.js";
import type { GrpcReadiness } from "../grpc/grpc-bootstrap.js";
import { peerWorkload } from "../node/peer-workload.js";
import { appProbes } from "../probes/app-probes.js";
import type { AgentMetrics } from "../status/metrics.js";
import { scrapeTargets } from "../status/scrape.js";
import { StatusServer } from "../status/status-server.js";
import { type AgentContext, urlHost } from "./context.js";
import { loggedClose, type Shutdown } from "./shutdown.js";

/** Throws an AgentError that names the reason while the proxy is not ready. */
export type ReadinessCheck = () => Promise<void>;

export interface ReadinessInputs {
  readonly metrics: AgentMetrics;
  readonly identity: WorkloadIdentity;
  readonly names: DnsService | undefined;
  readonly envoyReadiness: EnvoyReadiness | undefined;
  readonly grpc: GrpcReadiness;
  readonly shutdown: Shutdown;
}

/** Returns the proxy's readiness check. Its first success sets the startup duration metric. */
export function readinessCheck({ clock, startedAt }: AgentContext, inputs: ReadinessInputs): ReadinessCheck {
  const { metrics, identity, names, envoyReadiness, grpc, shutdown } = inputs;
  let wasReady = false;
  return async () => {
    if (shutdown.isRequested) throw new AgentError("envoy", "the agent is shutting down");
    identity.checkValid();
    await envoyReadiness?.check();
    names?.checkReady();
    await grpc.check();
    if (!wasReady) metrics.startupDuration.set((clock.now() - startedAt) / 1000);
    wasReady = true;
  };
}

export interface StatusInputs {
  readonly metrics: AgentMetrics;
  readonly names: DnsService | undefined;
  readonly checkReady: ReadinessCheck;
  readonly shutdown: Shutdown;
}

/**
 * Starts the status server, unless its port is 0.
 *
 * @throws AgentError `address`, or `option` for probes and scrape targets that cannot be parsed
 */
export async function startStatusServer(
  context: AgentContext,
  { metrics, names, checkReady, shutdown }: StatusInputs,
  closers: Closers,
): Promise<StatusServer | undefined> {
  const { type, options, proxy, networks, admin, application, log } = context;
  const { statusPort } = proxy.config;
  if (statusPort <= 0) return undefined;
  const server = new StatusServer({
    port: statusPort,
    ...(options.bindAddress ? { address: options.bindAddress } : {}),
    ready: checkReady,
    quit: () => {
      shutdown.markDrained();
      shutdown.request();
    },
    drain: () => {
      shutdown.markDrained();
      if (!options.disableEnvoy) void drainEnvoy({ admin, inboundOnly: type === "sidecar", log }, true);
    },
    metrics,
    localMetricsOnly: options.localMetricsOnly,
    ...(options.disableEnvoy
      ? {}
      : { envoyMetrics: `http://${urlHost(networks.localhost)}:${admin.port}/stats/prometheus` }),
    workload: peerWorkload(context),
    applications: type === "sidecar" ? scrapeTargets(options.prometheusScrape, statusPort) : [],
    applicationHost: urlHost(application.host),
    probe: appProbes({
      text: options.appProbers,
      ...application,
      offersHttp2: options.http2Probing,
      statusPort,
      log,
    }),
    ...(names ? { names: () => names.table() } : {}),
    log,
  });
  closers.defer(loggedClose("status server", () => server.close(), log));
  await server.start();
  return server;
}
