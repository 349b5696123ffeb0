import type { Proxy } from "./proxy.js";

/** A kind of clients that are not served. */
export type UnsupportedClientKind = "ztunnel" | "waypoint" | "agentgateway";

/** A client that gets no configuration, or none that it can use. */
export interface UnsupportedClient {
  readonly kind: UnsupportedClientKind;
  /** A sentence about such clients. */
  readonly reason: string;
}

const reasons: Readonly<Record<UnsupportedClientKind, string>> = {
  ztunnel: "ztunnels of ambient mode are not supported yet: they get no workloads and policies",
  waypoint: "waypoints of ambient mode are not supported yet: no traffic of a service is sent through them",
  agentgateway: "agentgateways are not supported: they get empty answers",
};

/** Kinds of clients that are not served, in the order of their names. */
export const unsupportedClientKinds: readonly UnsupportedClientKind[] = ["agentgateway", "waypoint", "ztunnel"];

/** Returns why a client is not served by its type; undefined for all others. */
export function unsupportedClient({ type: kind }: Pick<Proxy, "type">): UnsupportedClient | undefined {
  return kind === "sidecar" || kind === "router" ? undefined : { kind, reason: reasons[kind] };
}
