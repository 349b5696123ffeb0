import type { Server } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { isHttp, parseProtocol } from "@istiod/service-discovery";
import type { BoundServer, GatewayServer } from "./gateway-server.js";
import { isHttpsServerWithTlsTermination, isPassThroughServer } from "./server-kind.js";

/** A Gateway that a proxy serves. */
export interface SelectedGateway {
  readonly namespace: string;
  readonly name: string;
  readonly servers: readonly Server[];
  /** Returns the listening ports for a server's port; source: `resolvePorts` in pilot/pkg/model/gateway.go. */
  readonly listenOn: (port: number) => readonly number[];
  /**
   * Reports whether the proxy receives UDP for a server's port; absent if HTTP/3 is not served. Source:
   * `udpSupportedPort` in pilot/pkg/model/gateway.go.
   */
  readonly receivesUdp?: (port: number) => boolean;
}

/** Returns a server of a Gateway with explicit namespaces of its hosts. */
export function declaredServer(
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

/** Returns the server at one of its listening ports. */
export function bindServer(server: GatewayServer, port: number, gateway: SelectedGateway): BoundServer {
  return {
    ...server,
    routeName: routeConfigurationName(server, port, gateway),
    sniHosts: sniHosts(server),
    ...(servesHttp3(server, gateway) && { http3: true }),
  };
}

/**
 * Returns the hosts of a server of a Gateway in a namespace: `./host` becomes `namespace/host`, and the namespace `*`
 * is removed. `*` for both matches every host.
 */
export function explicitHosts(hosts: readonly string[], namespace: string): readonly string[] {
  if (hosts.includes("*/*")) return ["*"];
  return hosts.map((host) => {
    const [scope = "", name = ""] = host.split("/");
    if (!host.includes("/") || (scope !== "." && scope !== "*")) return host;
    return scope === "." ? `${namespace}/${name}` : name;
  });
}

function routeConfigurationName(server: GatewayServer, port: number, gateway: SelectedGateway): string {
  const bind = server.bind === "" ? "" : `.${server.bind}`;
  const protocol = parseProtocol(server.port.protocol);
  if (isHttp(protocol)) return `http.${port}${bind}`;
  if (protocol === "HTTPS" && !isPassThroughServer(server)) {
    return `https.${server.port.number}.${server.port.name}.${gateway.name}.${gateway.namespace}${bind}`;
  }
  return "";
}

function servesHttp3(server: GatewayServer, { receivesUdp }: SelectedGateway): boolean {
  return isHttpsServerWithTlsTermination(server) && receivesUdp?.(server.port.number) === true;
}

function sniHosts(server: GatewayServer): readonly string[] {
  if (server.tls === undefined) return [];
  return [...new Set(server.hosts.map((host) => host.split("/")[1] ?? host))].sort();
}
