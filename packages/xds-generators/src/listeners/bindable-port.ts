import { fact, type QueryContext } from "@istiod/incremental";
import { ipMode, mesh, type Proxy, isUnprivileged } from "@istiod/push-context";
import { isHttp, type Protocol } from "@istiod/service-discovery";
import { canonicalAddress, wildcards } from "./listener-address.js";

/** Ports on which the client's bootstrap listens on all addresses. */
const bootstrapPorts = fact("bootstrapPorts", ({ metadata }: Proxy): readonly number[] =>
  [
    metadata.ENVOY_STATUS_PORT,
    metadata.ENVOY_PROMETHEUS_PORT,
    metadata.ENVOY_SECURE_METRICS_PORT,
    metadata.ENVOY_SECURE_MERGED_METRICS_PORT,
  ].flatMap((port) => (port === undefined || port === 0 ? [] : [port])),
);

interface PortBinding {
  readonly port: number;
  readonly protocol: Protocol;
  /** Empty: all addresses for HTTP, the service's addresses otherwise. */
  readonly bind: string;
  /** True if the listener binds to the port, rather than receiving captured connections. */
  readonly bindToPort: boolean;
  /** True if the ports of `virtualOutbound` and `virtualInbound` are excluded. */
  readonly excludesCapturePorts: boolean;
}

/**
 * Reports whether a listener of the client can bind to a port: privileged ports and ports of the bootstrap may be
 * excluded. Source: `CanBindToPort` of pilot/pkg/model/context.go.
 */
export function canBindToPort(
  q: QueryContext,
  { port, protocol, bind, bindToPort, excludesCapturePorts }: PortBinding,
): boolean {
  if (bindToPort && port > 0 && port < 1024 && q.ask(isUnprivileged)) return false;
  const onAll = bind === "" ? isHttp(protocol) : canonicalAddress(bind) === wildcards[q.ask(ipMode)][0];
  if (!onAll) return true;
  if (excludesCapturePorts && [mesh(q).proxyListenPort, mesh(q).proxyInboundListenPort].includes(port)) return false;
  return !q.ask(bootstrapPorts).includes(port);
}
