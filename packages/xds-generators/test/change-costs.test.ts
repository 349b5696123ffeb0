import { difference } from "@istiod/resources";
import { describe, expect, it } from "vitest";
import { destinationRule, istioYaml, podYaml, serviceYaml } from "./mesh-yaml.js";
import { TestMesh, type TestProxy } from "./mesh.js";

/** The size of a mesh: its namespaces, and the services of each. */
interface Size {
  readonly namespaces: number;
  readonly services: number;
}

const small: Size = { namespaces: 4, services: 10 };
const moreServices: Size = { ...small, services: 30 };
const moreNamespaces: Size = { ...small, namespaces: 12 };

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

interface Fleet {
  readonly mesh: TestMesh;
  readonly proxies: readonly TestProxy[];
}

/** Returns a mesh of routed services, and a proxy for three services of each namespace. */
function fleetOf({ namespaces, services }: Size, { scoped }: { readonly scoped: boolean }): Fleet {
  const indices = Array.from({ length: namespaces }, (_, n) => n);
  const objects = indices.flatMap((n) => Array.from({ length: services }, (_, i) => service(n, i)));
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
  clusters: "envoy.config.cluster.v3.Cluster",
  endpoints: "envoy.config.endpoint.v3.ClusterLoadAssignment",
  listeners: "envoy.config.listener.v3.Listener",
  routes: "envoy.config.route.v3.RouteConfiguration",
} as const;

/** Counts of queries that ran. */
interface Runs {
  readonly listeners: number;
  readonly routes: number;
}

/** Generates all types for all proxies. Queries that clusters and endpoints share with others are not counted. */
function generate({ mesh, proxies }: Fleet): Runs {
  const runs = (type: string): number => {
    const before = mesh.db.stats().recomputations;
    for (const proxy of proxies) proxy.set(type);
    return mesh.db.stats().recomputations - before;
  };
  runs(types.clusters);
  runs(types.endpoints);
  return { listeners: runs(types.listeners), routes: runs(types.routes) };
}

/** Returns the queries that ran to generate the mesh, and again after an edit. */
function runsOf(
  size: Size,
  scoped: boolean,
  edit: (mesh: TestMesh) => void,
): { readonly all: Runs; readonly edit: Runs } {
  const fleet = fleetOf(size, { scoped });
  const all = generate(fleet);
  edit(fleet.mesh);
  return { all, edit: generate(fleet) };
}

const weight = (mesh: TestMesh): void => void mesh.apply(routes("svc-3-7", "ns-3", 50));
const added = (mesh: TestMesh): void => void mesh.apply(service(3, 200));

describe.each([
  { edited: "a weight change", edit: weight },
  { edited: "adding a service", edit: added },
])("queries that run after $edited", ({ edit }) => {
  it("do not depend on the size of the mesh, with a Sidecar per namespace", { timeout: 120_000 }, () => {
    const expected = runsOf(small, true, edit).edit;
    expect(expected.routes).toBeGreaterThan(0);
    expect(runsOf(moreServices, true, edit).edit).toEqual(expected);
    expect(runsOf(moreNamespaces, true, edit).edit).toEqual(expected);
  });

  it("do not grow with the number of services, without Sidecars", { timeout: 120_000 }, () => {
    const [before, after] = [small, moreServices].map((size) => runsOf(size, false, edit).edit);
    expect(before?.routes).toBeGreaterThan(0);
    expect(before?.listeners).toBeDefined();
    expect(after?.routes).toBeLessThanOrEqual(before?.routes ?? 0);
    expect(after?.listeners).toBe(before?.listeners);
  });

  // Each namespace has a route configuration of its own.
  it("grow no faster than the number of namespaces, without Sidecars", { timeout: 120_000 }, () => {
    const [before, after] = [small, moreNamespaces].map((size) => runsOf(size, false, edit).edit);
    const factor = moreNamespaces.namespaces / small.namespaces;
    expect(after?.routes).toBeLessThanOrEqual(factor * (before?.routes ?? 0));
    expect(after?.listeners).toEqual(before?.listeners);
  });

  it("are less than 5% of those that generate the mesh", { timeout: 120_000 }, () => {
    for (const scoped of [true, false]) {
      const runs = runsOf(moreServices, scoped, edit);
      expect(runs.edit.routes / runs.all.routes).toBeLessThan(0.05);
      expect(runs.edit.listeners / runs.all.listeners).toBeLessThan(0.05);
    }
  });
});

it("a weight change runs no query for listeners", { timeout: 120_000 }, () => {
  expect(runsOf(small, true, weight).edit.listeners).toBe(0);
  expect(runsOf(small, false, weight).edit.listeners).toBe(0);
});

it("queries that run for listeners grow no faster than the number of workloads", { timeout: 120_000 }, () => {
  const [before, after] = [small, moreNamespaces].map((size) => generate(fleetOf(size, { scoped: true })).listeners);
  const factor = moreNamespaces.namespaces / small.namespaces;
  expect(after).toBeLessThanOrEqual(factor * (before ?? 0));
});

it("an endpoint change replaces one part of a few resource sets", { timeout: 120_000 }, () => {
  const { mesh, proxies } = fleetOf({ namespaces: 4, services: 100 }, { scoped: false });
  const proxy = proxies[0]!;
  const before = proxy.set(types.endpoints);
  mesh.apply(podYaml("svc-3-7", "10.5.0.250", { namespace: "ns-3", ports: { http: 8080 }, labels: { version: "v1" } }));
  const after = proxy.set(types.endpoints);
  expect(difference(before, after).changed.length).toBeGreaterThan(0);
  expect(before.parts.length).toBeLessThan(400 / 8);
  expect(after.parts.length).toBe(before.parts.length);
  expect(after.parts.filter((part) => !before.parts.includes(part))).toHaveLength(1);
});
