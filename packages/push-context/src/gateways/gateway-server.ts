import type { ServerTLSSettings } from "@istiod/istio-api/networking/v1alpha3/gateway";

/** The port of a server as declared by its Gateway, before translation to a Service's target port. */
export interface GatewayServerPort {
  readonly number: number;
  readonly name: string;
  /** As declared, for example `HTTPS` or `http`. */
  readonly protocol: string;
}

/** A server of a Gateway, with explicit namespaces of its hosts. */
export interface GatewayServer {
  /** The owning Gateway, `namespace/name`. */
  readonly gateway: string;
  /** Index in the Gateway's `servers`. */
  readonly index: number;
  readonly name: string;
  readonly port: GatewayServerPort;
  /** Empty for all addresses. */
  readonly bind: string;
  /** Each `host` or `namespace/host`, with `.` replaced by the namespace of the Gateway and no namespace for `*`. */
  readonly hosts: readonly string[];
  readonly tls?: ServerTLSSettings;
}

/** Servers that share a socket and a protocol. */
export interface ServerGroup {
  /** The listening port. */
  readonly port: number;
  /** As declared by the first server. */
  readonly protocol: string;
  readonly bind: string;
  /** For plain HTTP, the route configuration that all servers share; otherwise empty. */
  readonly routeName: string;
  readonly servers: readonly BoundServer[];
}

/** A server at its listening port. */
export interface BoundServer extends GatewayServer {
  /**
   * Name of its route configuration: `http.PORT[.BIND]` or `https.PORT.NAME.GATEWAY.NAMESPACE[.BIND]`; empty if it does
   * not handle HTTP.
   */
  readonly routeName: string;
  /** Hosts without namespaces, sorted and deduplicated; empty without TLS settings. */
  readonly sniHosts: readonly string[];
  /** HTTP/3 is served too, at the UDP port of the same number. */
  readonly http3?: true;
}

/** A server that was ignored, and the reason. */
export interface RejectedServer {
  readonly gateway: string;
  readonly index: number;
  readonly reason: string;
  /** True if it cannot be read, because of a fault in istiod or content that validation missed. */
  readonly failed?: true;
  /** The server that it conflicts with; absent if the server is invalid by itself. */
  readonly conflictsWith?: Pick<GatewayServer, "gateway" | "index">;
}

/** All Gateways that a gateway proxy serves, merged. */
export interface MergedGateway {
  /** In the order in which the ports first occur. */
  readonly groups: readonly ServerGroup[];
  /** Servers of all groups, `namespace/name#index`, in the order of merging: those of older Gateways first. */
  readonly order: readonly string[];
  /** Maps route configuration names, sorted, to the servers that share them. */
  readonly serversByRouteName: Readonly<Record<string, readonly BoundServer[]>>;
  /** All Gateways with a server, `namespace/name`, sorted. */
  readonly gatewayNames: readonly string[];
  /**
   * Hosts of AUTO_PASSTHROUGH servers, sorted and deduplicated; undefined if there is no such server. A server that is
   * rejected for its port counts, but one that is rejected for its hosts does not.
   */
  readonly autoPassthroughHosts?: readonly string[];
  /** Maps a listening port (0 for a route name with a bind) to the ports that servers declare for it, ascending. */
  readonly portMap: Readonly<Record<number, readonly number[]>>;
  readonly rejected: readonly RejectedServer[];
}
