import { join } from "node:path";
import type { Any } from "@bufbuild/protobuf/wkt";
import { extensionConfigType, proxyConfigType } from "@istiod/resources";
import type { Closers } from "@istiod/runtime";
import { trustAnchorsIn } from "../certificates/trust-anchors.js";
import type { WorkloadIdentity } from "../certificates/workload-identity.js";
import { discoveryTls, headersFrom } from "../control-plane.js";
import type { TokenSource } from "../credentials/token-source.js";
import { DnsService } from "../dns/dns-service.js";
import type { EnvoyReadiness } from "../envoy/readiness.js";
import { HealthCheck } from "../probes/health-check.js";
import type { XdsProxyEvents } from "../xds-proxy/agent-resources.js";
import { XdsProxy } from "../xds-proxy/xds-proxy.js";
import type { AgentMetrics } from "../status/metrics.js";
import type { AgentContext } from "./context.js";
import { extensionRewriter } from "./modules.js";
import { loggedClose } from "./shutdown.js";

/**
 * Starts the DNS server, if enabled.
 *
 * @throws AgentError `address`, `file` or `option`
 */
export async function startDnsService(
  context: AgentContext,
  metrics: AgentMetrics,
  closers: Closers,
): Promise<DnsService | undefined> {
  const { type, options, log } = context;
  const isEnabled = (options.dnsCapture && type === "sidecar") || options.dnsServer;
  if (!isEnabled) return undefined;
  const names = new DnsService({ ...context, metrics });
  closers.defer(loggedClose("DNS server", () => names.close(), log));
  await names.start();
  return names;
}

export interface XdsProxyInputs {
  readonly token: TokenSource;
  readonly identity: WorkloadIdentity;
  readonly names: DnsService | undefined;
}

/** Returns the path of the socket that xDS clients of this pod connect to. */
export function xdsSocket({ proxy, resolvePath }: Pick<AgentContext, "proxy" | "resolvePath">): string {
  return resolvePath(join(proxy.config.configPath, "XDS"));
}

/** Starts the xDS proxy between Envoy and istiod. @throws AgentError `address` or `file` */
export async function startXdsProxy(
  context: AgentContext,
  metrics: AgentMetrics,
  { token, identity, names }: XdsProxyInputs,
  closers: Closers,
): Promise<XdsProxy> {
  const { options, proxy, env, clock, log } = context;
  const tls = discoveryTls(options, proxy.config);
  const xdsProxy = new XdsProxy({
    socket: xdsSocket(context),
    upstream: {
      address: proxy.config.discoveryAddress,
      ...(tls ? { tls } : {}),
      token,
      clusterId: options.clusterId,
      headers: headersFrom(env, "XDS_HEADER_"),
      clock,
      log,
    },
    handlers: {
      ...names?.handlers,
      ...(options.dynamicProxyConfig && {
        [proxyConfigType]: (resource: Any) => identity.setTrustAnchors(trustAnchorsIn(resource)),
      }),
    },
    rewriters: { [extensionConfigType]: extensionRewriter(context, metrics) },
    events: countedEvents(metrics),
    maxMessageBytes: options.xdsMaxMessageBytes,
    servesApplications: options.disableEnvoy,
    log,
  });
  closers.defer(loggedClose("xDS proxy", () => xdsProxy.close(), log));
  await xdsProxy.start();
  return xdsProxy;
}

/** Starts reporting the application's health to istiod, if the proxy configuration has a readiness probe. */
export function startHealthCheck(
  { proxy, options, application, clock, log }: AgentContext,
  xdsProxy: XdsProxy,
  envoyReadiness: EnvoyReadiness | undefined,
  closers: Closers,
): void {
  const { readinessProbe } = proxy.config;
  if (!readinessProbe) return;
  const health = new HealthCheck({
    probe: readinessProbe,
    ...application,
    offersHttp2: options.http2Probing,
    ...(envoyReadiness ? { proxyReady: () => envoyReadiness.check() } : {}),
    report: (state) => xdsProxy.reportHealth(state),
    clock,
    log,
  });
  closers.defer(() => health.stop());
  health.start();
}

function countedEvents(metrics: AgentMetrics): XdsProxyEvents {
  return {
    connectionFailed: () => metrics.istiodConnectionFailures.inc(),
    terminated: (side, type) =>
      (side === "istiod" ? metrics.istiodConnectionTerminations : metrics.envoyConnectionTerminations).inc({ type }),
    request: () => metrics.xdsProxyRequests.inc(),
    response: () => metrics.xdsProxyResponses.inc(),
    rejected: (reason) => metrics.xdsRejected.inc({ reason }),
  };
}
