import { fact, type QueryContext } from "@istiod/incremental";
import { ipMode, mesh, type Proxy, unprivileged } from "@istiod/push-context";
import { isHttp, type Protocol } from "@istiod/service-discovery";
import { wildcards } from "./listener-address.js";

/** Ports where the client's bootstrap listens on all addresses. */
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
  /** Empty: where HTTP is spoken, all addresses; else those of the service. */
  readonly bind: string;
  /** Whether the kernel is asked for the port, rather than connections to it being handed over. */
  readonly bindToPort: boolean;
  /** Whether the ports that captured connections arrive at count as taken. */
  readonly excludesCapturePorts: boolean;
}

/** Whether a listener of the client may have a port: it may be taken by the bootstrap, or be privileged. Source: `CanBindToPort` of pilot/pkg/model/context.go. */
export function canBindToPort(
  q: QueryContext,
  { port, protocol, bind, bindToPort, excludesCapturePorts }: PortBinding,
): boolean {
  if (bindToPort && port > 0 && port < 1024 && q.ask(unprivileged)) return false;
  const onAll = bind === "" ? isHttp(protocol) : bind === wildcards[q.ask(ipMode)][0];
  if (!onAll) return true;
  if (excludesCapturePorts && [mesh(q).proxyListenPort, mesh(q).proxyInboundListenPort].includes(port)) return false;
  return !q.ask(bootstrapPorts).includes(port);
}
