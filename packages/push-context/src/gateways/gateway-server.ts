import type { ServerTLSSettings } from "@istiod/istio-api/networking/v1alpha3/gateway";

/** The port of a server as its Gateway states it (for a Service's port: before it is translated to the target port). */
export interface GatewayServerPort {
  readonly number: number;
  readonly name: string;
  /** As written, for example `HTTPS` or `http`. */
  readonly protocol: string;
}

/** One server of one Gateway, as it stands after the namespaces of its hosts are made explicit. */
export interface GatewayServer {
  /** The owning Gateway, `namespace/name`. */
  readonly gateway: string;
  /** Position in the Gateway's list of servers. */
  readonly index: number;
  readonly name: string;
  readonly port: GatewayServerPort;
  /** Empty: every address. */
  readonly bind: string;
  /** Each `host` or `namespace/host`; a host of `./` has the Gateway's namespace, one of `*` has none. */
  readonly hosts: readonly string[];
  readonly tls?: ServerTLSSettings;
}

/** What of several servers share one socket and one protocol. */
export interface ServerGroup {
  /** The port listened on. */
  readonly port: number;
  /** As written by the first server. */
  readonly protocol: string;
  readonly bind: string;
  /** For plain HTTP: the one route configuration of all servers here; otherwise empty. */
  readonly routeName: string;
  readonly servers: readonly BoundServer[];
}

/** A server at the port that it listens on. */
export interface BoundServer extends GatewayServer {
  /**
   * Name of its route configuration: `http.PORT[.BIND]`, `https.PORT.NAME.GATEWAY.NAMESPACE[.BIND]`, or empty (no HTTP
   * seen).
   */
  readonly routeName: string;
  /** Hosts without namespaces, sorted, without repetition; only where it has TLS settings. */
  readonly sniHosts: readonly string[];
  /** Requests are taken by HTTP/3 too, at the UDP port of the same number. */
  readonly http3?: true;
}

/** A server that was left out, and why. */
export interface RejectedServer {
  readonly gateway: string;
  readonly index: number;
  readonly reason: string;
  /** The server that it conflicts with; absent where it is wrong by itself. */
  readonly conflictsWith?: Pick<GatewayServer, "gateway" | "index">;
}

/** All Gateways that one gateway proxy serves, merged to one. */
export interface MergedGateway {
  /** In the order in which the ports were first met. */
  readonly groups: readonly ServerGroup[];
  /** Route configuration name to the servers that share it; names sorted. */
  readonly serversByRouteName: Readonly<Record<string, readonly BoundServer[]>>;
  /** Every Gateway with a server, `namespace/name`, sorted. */
  readonly gatewayNames: readonly string[];
  /**
   * Hosts of AUTO_PASSTHROUGH servers, sorted, without repetition; undefined where no such server has SNI hosts of its
   * own, even one that is rejected for its port.
   */
  readonly autoPassthroughHosts?: readonly string[];
  /** Listening port (0 for a route name that has a bind) to the ports by which servers named it, ascending. */
  readonly portMap: Readonly<Record<number, readonly number[]>>;
  readonly rejected: readonly RejectedServer[];
}
