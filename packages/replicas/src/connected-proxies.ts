import type { Gathered } from "./gathered.js";
import { isRecord, ReplicaError } from "./replica.js";

/** A connection of a proxy to a replica. */
export interface ProxyConnection {
  /** ID of the connection. */
  readonly id: string;
  /** Node ID of the proxy. */
  readonly node: string;
  /** ID of the proxy's cluster; empty if unknown. */
  readonly cluster: string;
  /** Milliseconds since the epoch, by the replica's clock. */
  readonly connectedAt: number;
  /** Set for a client that is not served: a sentence about such clients. */
  readonly unsupported?: string;
}

/** A proxy of the answer to the command `proxies`. */
export interface ConnectedProxy extends ProxyConnection {
  /** Name; `name.namespace` for a Pod. */
  readonly name: string;
  readonly kind: string;
  readonly version: string;
}

/** Decodes the answer to the command `proxies`. @throws ReplicaError `malformed` */
export function decodeProxies(answer: unknown): readonly ConnectedProxy[] {
  const proxies = isRecord(answer) ? answer["proxies"] : undefined;
  const isProxy = (value: unknown): value is ConnectedProxy =>
    isConnection(value) &&
    ["name", "kind", "version"].every(
      (field) => typeof (value as unknown as Record<string, unknown>)[field] === "string",
    );
  if (!Array.isArray(proxies) || !proxies.every(isProxy))
    throw new ReplicaError("malformed", "its list of proxies has another form");
  return proxies;
}

/** Reports whether a value is a connection. */
export function isConnection(value: unknown): value is ProxyConnection {
  return (
    isRecord(value) &&
    ["id", "node", "cluster"].every((field) => typeof value[field] === "string") &&
    typeof value["connectedAt"] === "number" &&
    ["string", "undefined"].includes(typeof value["unsupported"])
  );
}

/** A connected client that is not served. */
export interface UnservedClient {
  readonly node: string;
  /** A sentence about such clients. */
  readonly reason: string;
}

/** Returns the clients that are not served. */
export function unservedClients(latest: readonly LatestConnection<ProxyConnection>[]): readonly UnservedClient[] {
  return latest.flatMap(({ proxy: { node, unsupported: reason } }) => (reason === undefined ? [] : [{ node, reason }]));
}

/** Formats the clients that are not served, one a line. */
export function formatUnserved(clients: readonly UnservedClient[]): string {
  return clients.map(({ node, reason }) => `${node} is not served: ${reason}\n`).join("");
}

/** The latest connection of a proxy, and the replica that has it. */
export interface LatestConnection<P extends ProxyConnection> {
  readonly replica: string;
  readonly proxy: P;
}

/** The latest connections of proxies, and the earlier ones that they replace. */
export interface JoinedConnections<P extends ProxyConnection> {
  /** Sorted by node ID. */
  readonly latest: readonly LatestConnection<P>[];
  /** IDs of earlier connections by the ID of the replica that still has them. */
  readonly superseded: ReadonlyMap<string, readonly string[]>;
}

/**
 * Joins the connections of all replicas by proxy. A proxy that has connected to another replica, or again, counts once,
 * with its latest connection; a replica notices the end of an earlier one only after its keepalive.
 *
 * @param connectionsOf returns the connections of an answer
 */
export function joinConnections<T, P extends ProxyConnection>(
  { answers }: Gathered<T>,
  connectionsOf: (answer: T) => readonly P[],
): JoinedConnections<P> {
  const latest = new Map<string, LatestConnection<P>>();
  const superseded = new Map<string, string[]>();
  const supersede = ({ replica, proxy }: LatestConnection<P>): void => {
    const list = superseded.get(replica) ?? [];
    superseded.set(replica, [...list, proxy.id]);
  };
  for (const { instance, answer } of answers) {
    for (const proxy of connectionsOf(answer)) {
      const key = `${proxy.cluster}\0${proxy.node}`;
      const [connection, other] = [{ replica: instance.id, proxy }, latest.get(key)];
      const isLatest = other === undefined || proxy.connectedAt >= other.proxy.connectedAt;
      if (other !== undefined) supersede(isLatest ? other : connection);
      if (isLatest) latest.set(key, connection);
    }
  }
  const order = (a: LatestConnection<P>, b: LatestConnection<P>): number =>
    a.proxy.node < b.proxy.node ? -1 : a.proxy.node > b.proxy.node ? 1 : 0;
  return { latest: [...latest.values()].sort(order), superseded };
}

/**
 * Returns the latest connection of the proxy with this node ID, `name.namespace` or connection ID; otherwise, as in
 * Istio, the latest one whose connection ID contains the text.
 */
export function connectionNamed<P extends ProxyConnection>(
  latest: readonly LatestConnection<P>[],
  name: string,
): LatestConnection<P> | undefined {
  const newest = (matches: (proxy: P) => boolean): LatestConnection<P> | undefined =>
    latest
      .filter(({ proxy }) => matches(proxy))
      .reduce<LatestConnection<P> | undefined>(
        (best, each) => (best === undefined || each.proxy.connectedAt > best.proxy.connectedAt ? each : best),
        undefined,
      );
  return (
    newest(({ id, node }) => id === name || node === name || node.split("~")[2] === name) ??
    newest(({ id }) => id.includes(name))
  );
}
