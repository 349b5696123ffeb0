// Costs of the generators in process, without streams: `npm run generators -w tools/bench -- [services] [proxies]`.
import { applyMeshConfig, decode, type LocatedObject, meshConfig, meshConfigKey, readMeshNetworks, meshNetworks, meshNetworksKey, type Report, setObjects } from "@istiod/config-ingestion";
import { Database } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import type { ResourceSet } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { type Figure, heapBytes, milliseconds, print } from "./measure.js";

const services = Number(process.argv[2] ?? 1000);
const proxies = Number(process.argv[3] ?? 500);
const namespaces = 20;
const types = { CDS: "envoy.config.cluster.v3.Cluster", EDS: "envoy.config.endpoint.v3.ClusterLoadAssignment", LDS: "envoy.config.listener.v3.Listener", RDS: "envoy.config.route.v3.RouteConfiguration" };

const strict: Report = {
  warning: () => undefined,
  error: (path, message) => {
    throw new Error(`${path.join(".")}: ${message}`);
  },
};

function address(n: number): string {
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

/** One service with two versions of one pod each, a weighted route and a rule with two subsets. */
function objectsOf(i: number, weight: number, outlier = 5): object[] {
  const namespace = `ns-${i % namespaces}`;
  const name = `svc-${i}`;
  const versions = ["v1", "v2"] as const;
  const pod = (v: number): object => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `${name}-${versions[v]}`, namespace, labels: { app: name, version: versions[v], "security.istio.io/tlsMode": "istio" } },
    spec: { serviceAccountName: name, containers: [{ name: "app" }] },
    status: { phase: "Running", podIP: address(i * 2 + v + 1), podIPs: [{ ip: address(i * 2 + v + 1) }] },
  });
  const destination = (subset: string, share: number): object => ({ destination: { host: name, subset }, weight: share });
  return [
    { apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec: { clusterIP: `172.${16 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`, ports: [{ name: "http", port: 8080 }], selector: { app: name } } },
    ...versions.map((_, v) => pod(v)),
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      endpoints: versions.map((version, v) => ({ addresses: [address(i * 2 + v + 1)], conditions: { ready: true }, targetRef: { kind: "Pod", name: `${name}-${version}`, namespace } })),
    },
    { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name, namespace }, spec: { hosts: [name], http: [{ route: [destination("v1", weight), destination("v2", 100 - weight)] }] } },
    {
      apiVersion: "networking.istio.io/v1",
      kind: "DestinationRule",
      metadata: { name, namespace },
      spec: { host: name, trafficPolicy: { outlierDetection: { consecutive5xxErrors: outlier } }, subsets: versions.map((version) => ({ name: version, labels: { version } })) },
    },
  ];
}

function located(objects: readonly object[]): LocatedObject[] {
  return objects.flatMap((o) =>
    decode(o).map((d) => {
      if (d.outcome !== "accepted") throw new Error(`${JSON.stringify(o)} was ${d.outcome}`);
      return { kind: d.kind, key: d.key, object: d.object } as LocatedObject;
    }),
  );
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("refused without a reason");
  return value;
}

const database = new Database<Proxy>();
database.commit((tx) => {
  tx.set(meshConfig, meshConfigKey, required(applyMeshConfig({}, strict)));
  tx.set(meshNetworks, meshNetworksKey, required(readMeshNetworks({}, strict)));
  for (let i = 0; i < services; i++) setObjects(tx, located(objectsOf(i, 90)));
});
const views = Array.from({ length: proxies }, (_, n) => {
  const i = n % services;
  const namespace = `ns-${i % namespaces}`;
  const name = `svc-${i}-v1`;
  return database.view(proxyFromNode({ id: `sidecar~${address(i * 2 + 1)}~${name}.${namespace}~${namespace}.svc.cluster.local`, metadata: { NAMESPACE: namespace, ISTIO_VERSION: "1.29.0", CLUSTER_ID: "Kubernetes" } }));
});

const last = new Map<string, (ResourceSet | undefined)[]>(Object.keys(types).map((t) => [t, []]));
const figures: Figure[] = [];

/** Asks for one type for every proxy; notes how many resources and sets are distinct. */
function ask(type: keyof typeof types, label: string): void {
  const generator = required(generators[`type.googleapis.com/${types[type]}`]);
  const before = last.get(type) ?? [];
  const after: ResourceSet[] = [];
  const ms = milliseconds(() => {
    for (const view of views) after.push(view.call(generator));
  });
  last.set(type, after);
  const sets = new Set(after);
  const resources = new Set([...sets].flatMap((s) => [...s]));
  const known = new Set([...new Set(before)].flatMap((s) => (s === undefined ? [] : [...s])));
  const fresh = [...resources].filter((r) => !known.has(r));
  figures.push({ what: `${label}: ${type}`, value: ms, unit: "ms for all proxies" });
  figures.push({ what: `${label}: ${type}, resources made`, value: fresh.length, unit: `of ${sets.size} distinct sets` });
  if (fresh.length > 0) {
    figures.push({ what: `${label}: ${type}, a resource made`, value: (ms * 1000) / fresh.length, unit: "µs" });
    figures.push({ what: `${label}: ${type}, a resource made`, value: fresh.reduce((n, r) => n + r.bytes.length, 0) / fresh.length, unit: "bytes" });
  }
}

function round(label: string, change?: readonly object[]): void {
  const before = database.stats().recomputations;
  if (change) {
    const objects = located(change);
    figures.push({ what: `${label}: commit`, value: milliseconds(() => void database.commit((tx) => setObjects(tx, objects))), unit: "ms" });
  }
  for (const type of Object.keys(types) as (keyof typeof types)[]) ask(type, label);
  figures.push({ what: `${label}: queries run`, value: database.stats().recomputations - before, unit: "" });
}

const empty = heapBytes();
round("cold");
const { memos, bytes } = database.stats();
figures.push({ what: "memos", value: memos, unit: "" }, { what: "records of the engine", value: bytes / memos, unit: "bytes a memo" });
figures.push({ what: "heap for all resources and records", value: (heapBytes() - empty) / 1e6, unit: "MB" });
round("nothing changed");
round("one weight", objectsOf(7, 80));
round("one rule", objectsOf(7, 80, 9));
round("one service added", objectsOf(services, 90));
print(`${services} services in ${namespaces} namespaces, ${proxies} proxies, nothing scoped`, figures);
