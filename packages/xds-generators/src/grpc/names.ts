/** The prefix of the names by which gRPC servers request their listeners. The address that the server binds follows. */
export const serverListenerPrefix = "xds.istio.io/grpc/lds/inbound/";

/** The target of a client's channel: `host:port`. */
export interface ChannelTarget {
  /** As requested, without the brackets of an IPv6 address. */
  readonly host: string;
  /** Undefined: the service's only port. */
  readonly port: number | undefined;
}

/** Parses the name of a client's listener; undefined if it is that of no target. */
export function parseTarget(name: string): ChannelTarget | undefined {
  const [, bracketed, plain = "", port] = /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(name) ?? [];
  const host = bracketed ?? plain;
  if (host === "") return undefined;
  return { host, port: port === undefined ? undefined : Number(port) };
}

/** Parses the address in the name of a server's listener, such as `0.0.0.0:8080` and `[::]:8080`. */
export function parseServerAddress(name: string): { readonly host: string; readonly port: number } | undefined {
  if (!name.startsWith(serverListenerPrefix)) return undefined;
  const target = parseTarget(name.slice(serverListenerPrefix.length));
  return target?.port === undefined || target.port > 65535 ? undefined : { host: target.host, port: target.port };
}

/**
 * Returns the hosts that a target may mean: itself, or a short name of a Kubernetes service as the client's DNS would
 * complete it. Source: pilot/pkg/networking/grpcgen/lds.go, tryFindFQDN.
 *
 * @param domain the client's DNS domain, such as `shop.svc.cluster.local`
 */
export function hostsOfTarget(host: string, namespace: string, domain: string): readonly string[] {
  if (!host.includes(".")) return [host, `${host}.${domain}`];
  for (const suffix of [namespace, `${namespace}.svc`])
    if (host.endsWith(`.${suffix}`) && domain.startsWith(suffix))
      return [host, `${host.slice(0, -suffix.length - 1)}.${domain}`];
  return [host];
}
