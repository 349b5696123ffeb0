/** Clusters that every proxy of a type has. */
export const blackHoleCluster = "BlackHoleCluster";
export const passthroughCluster = "PassthroughCluster";
export const inboundPassthroughCluster = "InboundPassthroughCluster";
export const allowAnyDynamicDnsCluster = "AllowAnyDynamicDNSCluster";
/** The proxy's own service, used by the bootstrap for zone-aware routing. */
export const selfDiscoveryCluster = "local_cluster";
export const externalSdsCluster = "sds-external";

/** The listener that terminates HBONE tunnels, at port 15008. */
export const connectTerminate = "connect_terminate";
/** The internal listener for connections from terminated HBONE tunnels, and its cluster. */
export const mainInternal = "main_internal";
/** The internal listener that opens HBONE tunnels, and the cluster of their endpoints. */
export const connectOriginate = "connect_originate";

export const virtualOutboundListener = "virtualOutbound";
export const virtualInboundListener = "virtualInbound";

export const virtualOutboundCatchAllChain = "virtualOutbound-catchall-tcp";
export const virtualOutboundBlackHoleChain = "virtualOutbound-blackhole";
export const virtualInboundBlackHoleChain = "virtualInbound-blackhole";
export const virtualInboundCatchAllHttpChain = "virtualInbound-catchall-http";
export const passthroughFilterChain = "PassthroughFilterChain";

/** Virtual hosts and routes for unknown hosts. */
export const blockAllRoute = "block_all";
export const allowAnyRoute = "allow_any";
export const allowAnyDynamicDnsRoute = "allow_any_dynamic_dns";

/** DNS caches of dynamic forward proxies. */
export const allowAnyDnsCache = "allow_any_dfp_dns_cache";
export const dnsCacheName = (hostname: string): string => `${hostname}_dfp_dns_cache`;

/** The suffix of a secret's name that requests its root certificates. */
export { rootCertificatesSuffix } from "@istiod/push-context";

type ClusterDirection = "outbound" | "inbound" | "inbound-vip";

/** The parts of a cluster name. `sniDnat` is the form with `_.`, which is also the SNI of Istio's mutual TLS. */
export interface ClusterName {
  readonly direction: ClusterDirection;
  readonly port: number;
  readonly subset: string;
  readonly hostname: string;
  readonly sniDnat: boolean;
}

/** `outbound|80|v1|cart.shop.svc.cluster.local`. */
export function outboundClusterName(hostname: string, port: number, subset = ""): string {
  return `outbound|${port}|${subset}|${hostname}`;
}

/**
 * `outbound_.80_.v1_.cart.shop.svc.cluster.local`: clusters of AUTO_PASSTHROUGH gateways, and the default SNI between
 * proxies.
 */
export function sniDnatClusterName(hostname: string, port: number, subset = ""): string {
  return `outbound_.${port}_.${subset}_.${hostname}`;
}

/** `inbound|8080||`; the port is the workload's. */
export function inboundClusterName(port: number): string {
  return `inbound|${port}||`;
}

/** Parses a cluster name of either form; undefined for any other name. */
export function parseClusterName(name: string): ClusterName | undefined {
  const sniDnat = /^(outbound|inbound)_\./.test(name);
  const separator = sniDnat ? "_." : "|";
  const parts = splitAtMost(name, separator, 4);
  const [direction, port, subset, hostname] = parts;
  if (
    parts.length !== 4 ||
    direction === undefined ||
    port === undefined ||
    subset === undefined ||
    hostname === undefined
  )
    return undefined;
  if (direction !== "outbound" && direction !== "inbound" && direction !== "inbound-vip") return undefined;
  if (!/^\d+$/.test(port)) return undefined;
  return { direction, port: Number(port), subset, hostname, sniDnat };
}

/** Returns a stat prefix with the delimiter `;`, at which Istio's tag extraction stops. */
export function delimitedStatPrefix(name: string): string {
  return `${name};`;
}

function splitAtMost(text: string, separator: string, count: number): string[] {
  const parts: string[] = [];
  let from = 0;
  while (parts.length < count - 1) {
    const at = text.indexOf(separator, from);
    if (at < 0) break;
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** Namespace of Istio's metadata of clusters. */
export const istioMetadata = "istio";
/** The metadata of a cluster with the ALPN protocols that announce HTTP, separated by commas. */
export const applicationProtocolsKey = "application_protocols";
