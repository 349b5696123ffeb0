import { describe, expect, it } from "vitest";
import { formatMeshDiff, jsonDifferences, diffMeshes, pairProxies } from "../src/index.js";
import { cart, meshOf, object, proxy, route, service } from "./mesh.js";

const weights = (v1: number): string =>
  service("cart") +
  object("DestinationRule", "cart", { host: cart, subsets: [{ name: "v1" }, { name: "v2" }] }) +
  route("cart", cart, {
    http: [
      {
        route: [
          { destination: { host: cart, subset: "v1" }, weight: v1 },
          { destination: { host: cart, subset: "v2" }, weight: 100 - v1 },
        ],
      },
    ],
  });

const proxies = [proxy(), proxy("sidecar", "other")];

describe("diffMeshes", () => {
  it("returns no changes if the objects have the same meaning", () => {
    const changes = diffMeshes(
      meshOf(weights(90)),
      meshOf(weights(90).replaceAll("2024-01-01", "2024-01-02")),
      pairProxies(proxies, proxies),
    );
    expect(changes).toEqual({ compared: 2, changed: [], added: [], removed: [], resources: [] });
  });

  it("returns an equal change once for all proxies, with the differing fields", () => {
    const changes = diffMeshes(meshOf(weights(90)), meshOf(weights(50)), pairProxies(proxies, proxies));
    expect(changes.resources).toHaveLength(1);
    const [resource] = changes.resources;
    expect(resource).toMatchObject({
      type: "rds",
      name: "80",
      change: "changed",
      proxies: proxies.map(({ nodeId }) => nodeId).sort(),
    });
    expect(
      resource?.differences.map(({ path, expected, actual }) => [
        path.replace(/.*\/weightedClusters/, ""),
        expected,
        actual,
      ]),
    ).toEqual([
      [`/clusters/[outbound|80|v1|${cart}]/weight`, 90, 50],
      [`/clusters/[outbound|80|v2|${cart}]/weight`, 10, 50],
    ]);
    expect(formatMeshDiff(changes)).toContain("2 of 2 proxies would change");
  });

  it("returns resources that were added or removed for some proxies only", () => {
    const hidden = object("Service", "bill", { clusterIP: "10.96.0.2", ports: [{ name: "http", port: 81 }] }).replace(
      '"labels":{}',
      '"labels":{},"annotations":{"networking.istio.io/exportTo":"other"}',
    );
    const changes = diffMeshes(meshOf(weights(90)), meshOf(weights(90) + hidden), pairProxies(proxies, proxies));
    expect(changes.changed).toEqual([proxies[1]?.nodeId]);
    expect(changes.resources.map(({ type, name, change }) => `${change} ${type} ${name}`)).toEqual(
      expect.arrayContaining(["added cds outbound|81||bill.shop.svc.cluster.local", "added rds 81"]),
    );
    const back = diffMeshes(meshOf(weights(90) + hidden), meshOf(weights(90)), pairProxies(proxies, proxies));
    expect(back.resources.map(({ change }) => change)).toContain("removed");
  });

  it("returns proxies of one state only, and pairs those whose address changed", () => {
    const moved = { ...proxy(), nodeId: "sidecar~10.1.0.9~web.shop~shop.svc.cluster.local" };
    const changes = diffMeshes(
      meshOf(weights(90)),
      meshOf(weights(90)),
      pairProxies([proxy()], [moved, proxy("router", "edge")]),
    );
    expect(changes).toMatchObject({ compared: 1, removed: [], added: [proxy("router", "edge").nodeId] });
  });
});

describe("jsonDifferences", () => {
  it("matches list elements by name and reports a different order", () => {
    expect(jsonDifferences([{ name: "a", x: 1 }, { name: "b" }], [{ name: "b" }, { name: "a", x: 2 }])).toEqual([
      { path: "/[a]/x", kind: "different", expected: 1, actual: 2 },
    ]);
    expect(jsonDifferences([{ name: "a" }, { name: "b" }], [{ name: "b" }, { name: "a" }])).toEqual([
      { path: "", kind: "order", expected: ["a", "b"], actual: ["b", "a"] },
    ]);
  });

  it("reports fields of one value only, and matches elements without names by index", () => {
    expect(jsonDifferences({ a: [1, 2], b: null }, { a: [1], c: {} })).toEqual([
      { path: "/a/1", kind: "missing", expected: 2 },
      { path: "/b", kind: "missing", expected: null },
      { path: "/c", kind: "extra", actual: {} },
    ]);
  });
});
