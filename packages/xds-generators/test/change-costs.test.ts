import { describe, expect, it } from "vitest";
import { generators } from "../src/index.js";
import { destinationRule, istioYaml, podYaml, serviceYaml } from "./mesh-yaml.js";
import { TestMesh, type TestProxy } from "./mesh.js";

const namespaces = 8;
const servicesEach = 25;
const namespaceOf = (n: number): string => `ns-${n}`;
const hostOf = (name: string, namespace: string): string => `${name}.${namespace}.svc.cluster.local`;

const routes = (name: string, namespace: string, weight: number): string => {
  const to = (subset: string, share: number): object => ({
    destination: { host: hostOf(name, namespace), subset },
    weight: share,
  });
  return istioYaml(
    "VirtualService",
    name,
    { hosts: [hostOf(name, namespace)], http: [{ route: [to("v1", weight), to("v2", 100 - weight)] }] },
    namespace,
  );
};

function service(namespace: number, i: number): string {
  const [of, name] = [namespaceOf(namespace), `svc-${namespace}-${i}`];
  const subsets = ["v1", "v2"].map((version) => ({ name: version, labels: { version } }));
  return (
    serviceYaml(name, { namespace: of, ip: `10.96.${namespace}.${i + 1}`, ports: ["http:80:8080"] }) +
    podYaml(name, `10.${namespace + 2}.0.${i + 1}`, { namespace: of, ports: { http: 8080 } }) +
    destinationRule(hostOf(name, of), { subsets }, of) +
    routes(name, of, 90)
  );
}

/** A mesh of 8 namespaces with 25 routed services each, and a proxy for three services of each namespace. */
function meshOf({ scoped }: { readonly scoped: boolean }): {
  readonly mesh: TestMesh;
  readonly proxies: readonly TestProxy[];
} {
  const indices = Array.from({ length: namespaces }, (_, n) => n);
  const objects = indices.flatMap((n) => Array.from({ length: servicesEach }, (_, i) => service(n, i)));
  const sidecars = indices.map((n) =>
    istioYaml("Sidecar", "default", { egress: [{ hosts: ["./*", "istio-system/*"] }] }, namespaceOf(n)),
  );
  const mesh = new TestMesh([...objects, ...(scoped ? sidecars : [])].join(""));
  const proxies = indices.flatMap((n) =>
    [0, 1, 2].map((i) =>
      mesh.proxy({
        namespace: namespaceOf(n),
        name: `svc-${n}-${i}-${n}`,
        ip: `10.${n + 2}.0.${i + 1}`,
        labels: { app: `svc-${n}-${i}` },
      }),
    ),
  );
  return { mesh, proxies };
}

const types = {
  listeners: "envoy.config.listener.v3.Listener",
  routes: "envoy.config.route.v3.RouteConfiguration",
} as const;

/** How many queries run for a type, for all proxies. */
function runs(mesh: TestMesh, proxies: readonly TestProxy[], type: string): number {
  const before = mesh.db.stats().recomputations;
  for (const proxy of proxies) proxy.set(type);
  return mesh.db.stats().recomputations - before;
}

/** How many run for each type after an edit, where everything was made before. */
function runsAfter(
  scoped: boolean,
  edit: (mesh: TestMesh) => void,
): { readonly listeners: number; readonly routes: number } {
  const { mesh, proxies } = meshOf({ scoped });
  for (const type of Object.keys(generators))
    for (const proxy of proxies) proxy.set(type.slice("type.googleapis.com/".length));
  edit(mesh);
  // What clusters and endpoints ask for too is theirs to pay.
  runs(mesh, proxies, "envoy.config.cluster.v3.Cluster");
  runs(mesh, proxies, "envoy.config.endpoint.v3.ClusterLoadAssignment");
  return { listeners: runs(mesh, proxies, types.listeners), routes: runs(mesh, proxies, types.routes) };
}

const weight = (mesh: TestMesh): void => void mesh.apply(routes("svc-3-7", "ns-3", 50));
const added = (mesh: TestMesh): void => void mesh.apply(service(3, servicesEach));

// Bounds are counts that were reached; they may become smaller, and for no reason larger.
describe("the queries that run for listeners and routes", () => {
  it("after a weight, with a Sidecar in each namespace: for one namespace", { timeout: 120_000 }, () => {
    expect(runsAfter(true, weight)).toEqual({ listeners: 0, routes: 7 });
  });

  it("after a weight, with nothing scoped: for what each namespace receives", { timeout: 120_000 }, () => {
    const { listeners, routes: made } = runsAfter(false, weight);
    expect(listeners).toBe(0);
    // A chunk and a route configuration for each namespace; no virtual host but the one, as its own namespace and as others see it.
    expect(made).toBeLessThanOrEqual(31);
  });

  it(
    "after a service was added, with a Sidecar in each namespace: no more, however many services there are",
    { timeout: 120_000 },
    () => {
      const { listeners, routes: made } = runsAfter(true, added);
      expect(listeners).toBeLessThanOrEqual(4);
      expect(made).toBeLessThanOrEqual(19);
    },
  );

  it(
    "after a service was added, with nothing scoped: no more, however many services there are",
    { timeout: 120_000 },
    () => {
      const { listeners, routes: made } = runsAfter(false, added);
      expect(listeners).toBeLessThanOrEqual(4);
      expect(made).toBeLessThanOrEqual(19 + 4 * namespaces);
    },
  );
});

describe("the queries that run for all listeners of a mesh", () => {
  it("are a few for each workload", { timeout: 120_000 }, () => {
    const { mesh, proxies } = meshOf({ scoped: true });
    runs(mesh, proxies, "envoy.config.cluster.v3.Cluster");
    const shared = 20 * namespaces + namespaces * servicesEach;
    expect(runs(mesh, proxies, types.listeners)).toBeLessThanOrEqual(8 * proxies.length + shared);
  });
});
