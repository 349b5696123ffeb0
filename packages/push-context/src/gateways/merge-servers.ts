import { type Server, ServerTLSSettings_TLSmode as TlsMode } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { isHttp, parseProtocol } from "@istiod/service-discovery";
import { failureMessage } from "../visibility/failure-message.js";
import { bindServer, declaredServer, type SelectedGateway } from "./bound-server.js";
import type { BoundServer, GatewayServer, MergedGateway, RejectedServer, ServerGroup } from "./gateway-server.js";
import { isHttpServer, isTlsServer } from "./server-kind.js";

/**
 * Merges Gateways, given oldest first. A port with one bind serves either plain HTTP (all servers share one route
 * configuration), or one plain TCP server, or any number of TLS servers distinguished by SNI. Each server that
 * conflicts is rejected by itself. Source: `mergeGateways` in pilot/pkg/model/gateway.go.
 */
export function mergeServers(gateways: readonly SelectedGateway[]): MergedGateway {
  const merger = new ServerMerger();
  for (const gateway of gateways) {
    for (const [index, spec] of gateway.servers.entries()) {
      try {
        merger.add(gateway, spec, index);
      } catch (error) {
        merger.fail(gateway, index, failureMessage(error));
      }
    }
  }
  return merger.result();
}

interface Group extends ServerGroup {
  readonly servers: BoundServer[];
}

class ServerMerger {
  readonly #groups = new Map<string, Group>();
  readonly #usedPorts = new Set<number>();
  /** The first group without TLS of each port, by bind. */
  readonly #plainGroups = new Map<number, Map<string, Group>>();
  readonly #serversByRoute = new Map<string, BoundServer[]>();
  readonly #tlsHosts = new Map<number, TlsHosts>();
  readonly #rejected: RejectedServer[] = [];
  readonly #gatewayNames = new Set<string>();
  readonly #order: string[] = [];
  #hasAutoPassthrough = false;

  add(gateway: SelectedGateway, spec: Server, index: number): void {
    if (spec.port === undefined) {
      const reason = "server without a port";
      this.#rejected.push({ gateway: `${gateway.namespace}/${gateway.name}`, index, reason });
      return;
    }
    const server = declaredServer(gateway, spec, index, spec.port);
    this.#gatewayNames.add(server.gateway);
    this.#order.push(serverKey(server));
    for (const port of gateway.listenOn(server.port.number)) {
      const bound = bindServer(server, port, gateway);
      if (this.#claimTlsHosts(bound, port)) this.#place(bound, port);
    }
  }

  /** Rejects a server that cannot be read, so that it fails alone. */
  fail({ namespace, name }: SelectedGateway, index: number, message: string): void {
    this.#rejected.push({ gateway: `${namespace}/${name}`, index, reason: message, failed: true });
  }

  result(): MergedGateway {
    const groups: readonly ServerGroup[] = [...this.#groups.values()];
    const routes = [...this.#serversByRoute].sort(([a], [b]) => (a < b ? -1 : 1));
    const autoPassthrough = groups
      .flatMap((group) => group.servers)
      .filter((server) => server.tls?.mode === TlsMode.AUTO_PASSTHROUGH);
    return {
      groups,
      order: this.#order,
      serversByRouteName: Object.fromEntries(routes),
      gatewayNames: [...this.#gatewayNames].sort(),
      ...(this.#hasAutoPassthrough && {
        autoPassthroughHosts: [...new Set(autoPassthrough.flatMap((server) => server.hosts))].sort(),
      }),
      portMap: portMap(routes),
      rejected: this.#rejected,
    };
  }

  /** Claims the hosts of a TLS server. Returns false, and rejects the server, if another server has one of them. */
  #claimTlsHosts(server: BoundServer, port: number): boolean {
    if (server.tls === undefined) return true;
    const hosts = this.#tlsHosts.get(port) ?? new TlsHosts();
    this.#tlsHosts.set(port, hosts);
    const { duplicates, owner } = hosts.claim(server);
    if (duplicates.length > 0) {
      this.#reject(server, `duplicate host names on port ${port}: ${duplicates.join(", ")}`, owner);
      return false;
    }
    this.#hasAutoPassthrough ||= server.tls.mode === TlsMode.AUTO_PASSTHROUGH;
    return true;
  }

  #place(server: BoundServer, port: number): void {
    const plainGroups = this.#plainGroups.get(port);
    const plain = plainGroups?.get(server.bind);
    if (!this.#usedPorts.has(port) || (plainGroups === undefined && !isTlsServer(server))) {
      this.#usedPorts.add(port);
      if (isHttpServer(server)) append(this.#serversByRoute, server.routeName, server);
      this.#open(server, port);
    } else if (plainGroups === undefined) {
      this.#placeTls(server, port);
    } else if (plain === undefined) {
      this.#placeAtOtherBind(server, port);
    } else if (!canShare(server.port.protocol, plain.protocol)) {
      const reason = `${server.port.protocol} on port ${port} conflicts with ${plain.protocol}`;
      this.#reject(server, reason, plain.servers[0]);
    } else if (server.routeName === "") {
      this.#reject(server, `another server has port ${port}`, plain.servers[0]);
    } else {
      plain.servers.push(server);
      append(this.#serversByRoute, server.routeName, server);
    }
  }

  /** Adds a TLS server to a port on which all servers have TLS. */
  #placeTls(server: BoundServer, port: number): void {
    if (isHttpServer(server)) {
      const existing = this.#serversByRoute.get(server.routeName);
      if (existing !== undefined) {
        this.#reject(server, `name of HTTPS port ${port} is not unique: ${server.port.name}`, existing[0]);
        return;
      }
      this.#serversByRoute.set(server.routeName, [server]);
    }
    const group = this.#groups.get(groupKey(server, port));
    if (group === undefined) this.#open(server, port);
    else group.servers.push(server);
  }

  /** Adds a server to a port whose plain groups have other binds. */
  #placeAtOtherBind(server: BoundServer, port: number): void {
    const group = this.#groups.get(groupKey(server, port));
    if (group === undefined) {
      if (isHttpServer(server)) append(this.#serversByRoute, server.routeName, server);
      this.#open(server, port);
      return;
    }
    group.servers.push(server);
    if (server.routeName !== "") append(this.#serversByRoute, server.routeName, server);
  }

  #open(server: BoundServer, port: number): void {
    const isPlainHttp = isHttp(parseProtocol(server.port.protocol));
    const group: Group = {
      port,
      protocol: server.port.protocol,
      bind: server.bind,
      routeName: isPlainHttp ? server.routeName : "",
      servers: [server],
    };
    this.#groups.set(groupKey(server, port), group);
    if (isTlsServer(server)) return;
    const plainGroups = this.#plainGroups.get(port) ?? new Map<string, Group>();
    plainGroups.set(server.bind, group);
    this.#plainGroups.set(port, plainGroups);
  }

  #reject({ gateway, index }: BoundServer, reason: string, conflictsWith: GatewayServer | undefined): void {
    this.#rejected.push({
      gateway,
      index,
      reason,
      ...(conflictsWith && { conflictsWith: { gateway: conflictsWith.gateway, index: conflictsWith.index } }),
    });
  }
}

/** Hosts of the TLS servers of one port, each with the server that claimed it last. */
class TlsHosts {
  readonly #owners = new Map<string, GatewayServer>();

  /**
   * Claims the hosts of a server. If any of them is claimed on the same bind, returns these and the owner of the first
   * one, and claims none.
   */
  claim(server: GatewayServer): {
    readonly duplicates: readonly string[];
    readonly owner?: GatewayServer | undefined;
  } {
    const duplicates = server.hosts.filter((host) => this.#owners.get(host)?.bind === server.bind);
    if (duplicates.length === 0) for (const host of server.hosts) this.#owners.set(host, server);
    return { duplicates, owner: this.#owners.get(duplicates[0] ?? "") };
  }
}

/** Returns the name of a server in the order of merging. */
export function serverKey({ gateway, index }: Pick<GatewayServer, "gateway" | "index">): string {
  return `${gateway}#${index}`;
}

function groupKey({ port: { protocol }, bind }: BoundServer, port: number): string {
  return `${port} ${protocol} ${bind}`;
}

function canShare(added: string, existing: string): boolean {
  return (
    isHttp(parseProtocol(existing)) &&
    (isHttp(parseProtocol(added)) || parseProtocol(added) === parseProtocol(existing))
  );
}

function append(map: Map<string, BoundServer[]>, key: string, server: BoundServer): void {
  const existing = map.get(key);
  if (existing === undefined) map.set(key, [server]);
  else existing.push(server);
}

function portMap(routes: readonly (readonly [string, readonly BoundServer[]])[]): MergedGateway["portMap"] {
  const out: Record<number, readonly number[]> = {};
  for (const [routeName, servers] of routes) {
    const port = portOfRoute(routeName);
    const numbers = new Set([...(out[port] ?? []), ...servers.map((server) => server.port.number)]);
    out[port] = [...numbers].sort((a, b) => a - b);
  }
  return out;
}

/**
 * Returns the port in `http.PORT` or `https.PORT.NAME.GATEWAY.NAMESPACE`; 0 if the name has further parts such as a
 * bind.
 */
function portOfRoute(routeName: string): number {
  const parts = routeName.split(".");
  if (parts[0] === "http" && parts.length === 2) return Number(parts[1]);
  return parts[0] === "https" && parts.length === 5 ? Number(parts[1]) : 0;
}
