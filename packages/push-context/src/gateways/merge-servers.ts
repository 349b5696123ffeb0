import { type Server, ServerTLSSettings_TLSmode as TlsMode } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { isHttp, parseProtocol } from "@istiod/service-discovery";
import type { BoundServer, GatewayServer, MergedGateway, RejectedServer, ServerGroup } from "./gateway-server.js";
import { isPassThroughServer, isHttpServer, isTlsServer, isHttpsServerWithTlsTermination } from "./server-kind.js";

/** A Gateway that a proxy serves. */
export interface SelectedGateway {
  readonly namespace: string;
  readonly name: string;
  readonly servers: readonly Server[];
  /** The ports listened on for the port that a server names; source: `resolvePorts` of pilot/pkg/model/gateway.go. */
  readonly listenOn: (port: number) => readonly number[];
  /**
   * Whether UDP comes to the proxy for the port that a server names; absent: HTTP/3 is not served. Source:
   * `udpSupportedPort` there.
   */
  readonly takesUdp?: (port: number) => boolean;
}

interface Group {
  readonly port: number;
  readonly protocol: string;
  readonly bind: string;
  readonly routeName: string;
  readonly servers: BoundServer[];
}

/**
 * One gateway of many, oldest first. On a port with one bind there is either plain HTTP (its servers share one route
 * configuration), or one plain TCP server, or any number of TLS servers told apart by SNI. What does not fit is
 * rejected, alone. Source: `mergeGateways` of pilot/pkg/model/gateway.go.
 */
export function mergeServers(gateways: readonly SelectedGateway[]): MergedGateway {
  const groups = new Map<string, Group>();
  const usedPorts = new Set<number>();
  const plainPorts = new Map<number, Group>();
  const byRoute = new Map<string, BoundServer[]>();
  const tlsHosts = new Map<number, SniHosts>();
  const rejected: RejectedServer[] = [];
  const gatewayNames = new Set<string>();
  let autoPassthrough = false;

  for (const gateway of gateways) {
    for (const [index, spec] of gateway.servers.entries()) {
      if (spec.port === undefined) {
        rejected.push({ gateway: `${gateway.namespace}/${gateway.name}`, index, reason: "server without a port" });
        continue;
      }
      const declared = explicitServer(gateway, spec, index, spec.port);
      gatewayNames.add(declared.gateway);
      for (const port of gateway.listenOn(declared.port.number)) {
        const server: BoundServer = {
          ...declared,
          routeName: routeNameOf(declared, port, gateway),
          sniHosts: sniHostsOf(declared),
          ...(takesHttp3(declared, gateway) && { http3: true }),
        };
        const refuse = (reason: string, conflictsWith?: GatewayServer): void =>
          void rejected.push({
            gateway: server.gateway,
            index,
            reason,
            ...(conflictsWith && { conflictsWith: { gateway: conflictsWith.gateway, index: conflictsWith.index } }),
          });
        const key = `${port} ${server.port.protocol} ${server.bind}`;
        const open = (): void => {
          const plainHttp = isHttp(parseProtocol(server.port.protocol));
          const group: Group = {
            port,
            protocol: server.port.protocol,
            bind: server.bind,
            routeName: plainHttp ? server.routeName : "",
            servers: [server],
          };
          groups.set(key, group);
          if (!isTlsServer(server)) plainPorts.set(port, group);
        };

        if (server.tls !== undefined) {
          const hosts = tlsHosts.get(port) ?? new SniHosts();
          tlsHosts.set(port, hosts);
          const { taken, by } = hosts.claim(server);
          if (taken.length > 0) {
            refuse(`duplicate host names on port ${port}: ${taken.join(", ")}`, by);
            continue;
          }
          autoPassthrough ||= server.tls.mode === TlsMode.AUTO_PASSTHROUGH;
        }

        const same = groups.get(key);
        const plain = plainPorts.get(port);
        if (!usedPorts.has(port) || (plain === undefined && !isTlsServer(server))) {
          usedPorts.add(port);
          if (isHttpServer(server)) byRoute.set(server.routeName, [server]);
          open();
        } else if (plain === undefined) {
          if (isHttpServer(server)) {
            if (byRoute.has(server.routeName)) {
              refuse(
                `name of HTTPS port ${port} is not unique: ${server.port.name}`,
                byRoute.get(server.routeName)?.[0],
              );
              continue;
            }
            byRoute.set(server.routeName, [server]);
          }
          if (same === undefined) open();
          else same.servers.push(server);
        } else if (plain.bind !== server.bind) {
          if (same === undefined) {
            if (isHttpServer(server)) byRoute.set(server.routeName, [server]);
            open();
          } else {
            same.servers.push(server);
            if (server.routeName !== "") append(byRoute, server.routeName, server);
          }
        } else if (!canShare(server.port.protocol, plain.protocol)) {
          refuse(`${server.port.protocol} on port ${port} conflicts with ${plain.protocol}`, plain.servers[0]);
        } else if (server.routeName === "") {
          refuse(`another server has port ${port}`, plain.servers[0]);
        } else {
          plain.servers.push(server);
          append(byRoute, server.routeName, server);
        }
      }
    }
  }
  return { ...summary([...groups.values()], byRoute, gatewayNames, autoPassthrough), rejected };
}

/** Hosts that TLS servers of one port have, each with the bind of the last that took it. */
class SniHosts {
  readonly #last = new Map<string, GatewayServer>();

  /**
   * Takes the hosts of a server, unless some are taken on the same bind: then gives those, and who has the first of
   * them, and takes none.
   */
  claim(server: GatewayServer): { readonly taken: readonly string[]; readonly by?: GatewayServer | undefined } {
    const taken = server.hosts.filter((host) => this.#last.get(host)?.bind === server.bind);
    if (taken.length === 0) for (const host of server.hosts) this.#last.set(host, server);
    return { taken, by: this.#last.get(taken[0] ?? "") };
  }
}

function explicitServer(
  gateway: SelectedGateway,
  spec: Server,
  index: number,
  port: NonNullable<Server["port"]>,
): GatewayServer {
  return {
    gateway: `${gateway.namespace}/${gateway.name}`,
    index,
    name: spec.name,
    port: { number: port.number, name: port.name, protocol: port.protocol },
    bind: spec.bind,
    hosts: explicitHosts(spec.hosts, gateway.namespace),
    ...(spec.tls === undefined ? {} : { tls: spec.tls }),
  };
}

// `./host` becomes `namespace/host`, `*` as the namespace is dropped, and `*` for both stands for every host.
function explicitHosts(hosts: readonly string[], namespace: string): readonly string[] {
  if (hosts.includes("*/*")) return ["*"];
  return hosts.map((host) => {
    const [scope = "", name = ""] = host.split("/");
    if (!host.includes("/") || (scope !== "." && scope !== "*")) return host;
    return scope === "." ? `${namespace}/${name}` : name;
  });
}

function routeNameOf(server: GatewayServer, port: number, gateway: SelectedGateway): string {
  const bind = server.bind === "" ? "" : `.${server.bind}`;
  const protocol = parseProtocol(server.port.protocol);
  if (isHttp(protocol)) return `http.${port}${bind}`;
  if (protocol === "HTTPS" && !isPassThroughServer(server)) {
    return `https.${server.port.number}.${server.port.name}.${gateway.name}.${gateway.namespace}${bind}`;
  }
  return "";
}

function takesHttp3(server: GatewayServer, { takesUdp }: SelectedGateway): boolean {
  return isHttpsServerWithTlsTermination(server) && takesUdp?.(server.port.number) === true;
}

function sniHostsOf(server: GatewayServer): readonly string[] {
  if (server.tls === undefined) return [];
  return [...new Set(server.hosts.map((host) => host.split("/")[1] ?? host))].sort();
}

function canShare(added: string, present: string): boolean {
  return (
    isHttp(parseProtocol(present)) && (isHttp(parseProtocol(added)) || parseProtocol(added) === parseProtocol(present))
  );
}

function append(map: Map<string, BoundServer[]>, key: string, server: BoundServer): void {
  const present = map.get(key);
  if (present === undefined) map.set(key, [server]);
  else present.push(server);
}

function summary(
  groups: readonly Group[],
  byRoute: ReadonlyMap<string, readonly BoundServer[]>,
  names: ReadonlySet<string>,
  autoPassthrough: boolean,
): Omit<MergedGateway, "rejected"> {
  const served: readonly ServerGroup[] = groups;
  const auto = served
    .flatMap((group) => group.servers)
    .filter((server) => server.tls?.mode === TlsMode.AUTO_PASSTHROUGH);
  const routes = [...byRoute].sort(([a], [b]) => (a < b ? -1 : 1));
  const portMap: Record<number, readonly number[]> = {};
  for (const [routeName, servers] of routes) {
    const port = portOfRoute(routeName);
    portMap[port] = [...new Set([...(portMap[port] ?? []), ...servers.map((server) => server.port.number)])].sort(
      (a, b) => a - b,
    );
  }
  return {
    groups: served,
    serversByRouteName: Object.fromEntries(routes),
    gatewayNames: [...names].sort(),
    ...(autoPassthrough && { autoPassthroughHosts: [...new Set(auto.flatMap((server) => server.hosts))].sort() }),
    portMap,
  };
}

/** The port in `http.PORT` or `https.PORT.NAME.GATEWAY.NAMESPACE`; 0 where the name has other parts, such as a bind. */
function portOfRoute(routeName: string): number {
  const parts = routeName.split(".");
  if (parts[0] === "http" && parts.length === 2) return Number(parts[1]);
  return parts[0] === "https" && parts.length === 5 ? Number(parts[1]) : 0;
}
