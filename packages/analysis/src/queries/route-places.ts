import { gateways } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  explicitHosts,
  hostsForNamespace,
  hostsOverlap,
  isPassThroughServer,
  isTcpServerWithTlsTermination,
  isWildcard,
  meshGateway,
} from "@istiod/push-context";
import {
  ServerTLSSettings_TLSmode as Mode,
  type ServerTLSSettings,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import {
  aliasedHost,
  isHttp,
  isTcp,
  parseProtocol,
  type Protocol,
  service,
  type ServicePort,
  servicesByHostname,
} from "@istiod/service-discovery";

/** The kinds of routes of a VirtualService. */
export const routeKinds = ["http", "tls", "tcp"] as const;
export type RouteKind = (typeof routeKinds)[number];

/** A port at which routes of a VirtualService may apply: of a host, for sidecars, or of a server of a Gateway. */
export interface RoutePort {
  /** `mesh`, or the Gateway, `namespace/name`. */
  readonly gateway: string;
  readonly number: number;
  /** The protocol, as declared. */
  readonly protocol: string;
  readonly kinds: readonly RouteKind[];
}

/** Returns the ports of a host with their protocols, except UDP; undefined if the host is not known. */
export function portsOfHost(q: QueryContext, hostname: string): readonly ServicePort[] | undefined {
  if (isWildcard(hostname)) return undefined;
  const keys = q.call(servicesByHostname, q.call(aliasedHost, hostname) ?? hostname);
  const found = keys.flatMap((key) => q.call(service, key) ?? []).filter(({ resolution }) => resolution !== "Alias");
  return found.length === 0
    ? undefined
    : found.flatMap(({ ports }) => ports.filter(({ protocol }) => protocol !== "UDP"));
}

/** Returns the ports of a host at which routes of sidecars apply; undefined if the host is not known. */
export function meshRoutePorts(q: QueryContext, hostname: string): readonly RoutePort[] | undefined {
  return portsOfHost(q, hostname)?.map(({ number, protocol }) => ({
    gateway: meshGateway,
    number,
    protocol: protocol === "UnsupportedProtocol" ? "not declared" : protocol,
    kinds: kindsOfProtocol(protocol),
  }));
}

/** TLS routes apply to every connection that is not known to be HTTP, by its SNI. */
function kindsOfProtocol(protocol: Protocol): readonly RouteKind[] {
  if (isHttp(protocol)) return ["http"];
  return isTcp(protocol) ? ["tls", "tcp"] : routeKinds;
}

/** The port of a server, with the server's place in the Gateway. */
interface ServerPort extends RoutePort {
  readonly at: number;
}

/** The ports of a Gateway's servers for VirtualServices of one namespace, by host. */
interface ServerPorts {
  readonly ofHost: ReadonlyMap<string, readonly ServerPort[]>;
  /** Hosts with a wildcard. */
  readonly wildcards: readonly string[];
}

const serverPorts = query(
  "analysis.serverPorts",
  (q, { gateway, namespace }: { readonly gateway: string; readonly namespace: string }): ServerPorts => {
    const found = q.read(gateways, gateway);
    const ofHost = new Map<string, ServerPort[]>();
    for (const [at, server] of (found?.spec.servers ?? []).entries()) {
      if (found === undefined || server.port === undefined) continue;
      const { number, protocol } = server.port;
      const kinds = kindsOfServer({ port: server.port, ...(server.tls && { tls: server.tls }) });
      const mode = server.tls === undefined || isHttp(parseProtocol(protocol)) ? "" : ` ${Mode[server.tls.mode]}`;
      const port = { gateway, number, protocol: `${protocol}${mode}`, kinds, at };
      for (const host of hostsForNamespace(explicitHosts(server.hosts, found.namespace), namespace)) {
        const ports = ofHost.get(host);
        if (ports === undefined) ofHost.set(host, [port]);
        else ports.push(port);
      }
    }
    return { ofHost, wildcards: [...ofHost.keys()].filter(isWildcard) };
  },
);

/**
 * Returns the ports of a Gateway's servers that have one of the hosts of a VirtualService; undefined if there is none,
 * or no such Gateway.
 */
export function gatewayRoutePorts(
  q: QueryContext,
  gateway: string,
  hosts: readonly string[],
  namespace: string,
): readonly RoutePort[] | undefined {
  const { ofHost, wildcards } = q.call(serverPorts, { gateway, namespace });
  const served = hosts.flatMap((host) => {
    const others = isWildcard(host) ? [...ofHost.keys()] : wildcards;
    return [host, ...others.filter((own) => own !== host && hostsOverlap(own, host))];
  });
  const ports = new Set(served.flatMap((host) => ofHost.get(host) ?? []));
  return ports.size === 0 ? undefined : [...ports].sort((a, b) => a.at - b.at);
}

function kindsOfServer(server: {
  readonly port: { readonly protocol: string };
  readonly tls?: ServerTLSSettings;
}): readonly RouteKind[] {
  // The TLS settings of a server with HTTP are for the redirect to HTTPS, and have no mode.
  if (isHttp(parseProtocol(server.port.protocol))) return ["http"];
  if (isPassThroughServer(server)) return server.tls?.mode === Mode.AUTO_PASSTHROUGH ? [] : ["tls"];
  return isTcpServerWithTlsTermination(server) ? ["tcp"] : ["http"];
}
