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

/** Returns how many queries run for a type, for all proxies. */
function runs(mesh: TestMesh, proxies: readonly TestProxy[], type: string): number {
  const before = mesh.db.stats().recomputations;
  for (const proxy of proxies) proxy.set(type);
  return mesh.db.stats().recomputations - before;
}

/** Returns how many queries run for each type after an edit of a mesh that was computed before. */
function runsAfter(
  scoped: boolean,
  edit: (mesh: TestMesh) => void,
): { readonly listeners: number; readonly routes: number } {
  const { mesh, proxies } = meshOf({ scoped });
  for (const type of Object.keys(generators))
    for (const proxy of proxies) proxy.set(type.slice("type.googleapis.com/".length));
  edit(mesh);
  // Queries that clusters and endpoints run too are attributed to them.
  runs(mesh, proxies, "envoy.config.cluster.v3.Cluster");
  runs(mesh, proxies, "envoy.config.endpoint.v3.ClusterLoadAssignment");
  return { listeners: runs(mesh, proxies, types.listeners), routes: runs(mesh, proxies, types.routes) };
}

const weight = (mesh: TestMesh): void => void mesh.apply(routes("svc-3-7", "ns-3", 50));
const added = (mesh: TestMesh): void => void mesh.apply(service(3, servicesEach));

// Bounds are observed counts; they may become smaller, but should not grow.
describe("queries that run for listeners and routes", () => {
  it("after a weight change, with a Sidecar per namespace: one namespace's", { timeout: 120_000 }, () => {
    expect(runsAfter(true, weight)).toEqual({ listeners: 0, routes: 7 });
  });

  it("after a weight change, without Sidecars: those of each namespace's view", { timeout: 120_000 }, () => {
    const { listeners, routes: made } = runsAfter(false, weight);
    expect(listeners).toBe(0);
    // A chunk and a route configuration for each namespace; a single virtual host, as seen from its own namespace and
    // from others.
    expect(made).toBeLessThanOrEqual(31);
  });

  it(
    "after adding a service, with a Sidecar per namespace: independent of the number of services",
    { timeout: 120_000 },
    () => {
      const { listeners, routes: made } = runsAfter(true, added);
      expect(listeners).toBeLessThanOrEqual(4);
      expect(made).toBeLessThanOrEqual(19);
    },
  );

  it("after adding a service, without Sidecars: independent of the number of services", { timeout: 120_000 }, () => {
    const { listeners, routes: made } = runsAfter(false, added);
    expect(listeners).toBeLessThanOrEqual(4);
    expect(made).toBeLessThanOrEqual(19 + 4 * namespaces);
  });
});

describe("queries that run for all listeners of a mesh", () => {
  it("are few per workload", { timeout: 120_000 }, () => {
    const { mesh, proxies } = meshOf({ scoped: true });
    runs(mesh, proxies, "envoy.config.cluster.v3.Cluster");
    const shared = 20 * namespaces + namespaces * servicesEach;
    expect(runs(mesh, proxies, types.listeners)).toBeLessThanOrEqual(8 * proxies.length + shared);
  });
});
