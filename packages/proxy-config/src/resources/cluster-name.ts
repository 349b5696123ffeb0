/** The parts of a cluster's name in Istio's form, `direction|port|subset|host`. */
export interface ClusterName {
  readonly direction: string;
  readonly port: number;
  readonly subset: string;
  readonly host: string;
}

/** Parses a cluster's name; undefined if it does not have Istio's form, such as `PassthroughCluster`. */
export function parseClusterName(name: string): ClusterName | undefined {
  const [direction = "", port = "", subset = "", host, ...more] = name.split("|");
  if (host === undefined) return undefined;
  return { direction, port: /^\d+$/.test(port) ? Number(port) : 0, subset, host: more.length === 0 ? host : "" };
}

/** Compares cluster names by host, subset, port and direction. */
export function compareClusterNames(a: string, b: string): number {
  const [x, y] = [a, b].map((name) => parseClusterName(name) ?? { direction: "", port: 0, subset: "", host: name });
  if (x === undefined || y === undefined) return 0;
  return compare(x.host, y.host) || compare(x.subset, y.subset) || x.port - y.port || compare(x.direction, y.direction);
}

/** Compares strings by UTF-16 code units, independent of the locale. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
