import { describe, expect, it } from "vitest";
import { explain, nearestResources, resourceType } from "../src/index.js";
import { cart, meshOf, object, proxy, route, service, why } from "./mesh.js";

const cluster = `outbound|80||${cart}`;
const rule = object("DestinationRule", "cart", {
  host: "cart",
  trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } },
  subsets: [{ name: "v1", labels: { version: "v1" } }],
});
const mesh = () => meshOf(service("cart") + service("bill") + rule);

describe("the provenance of a resource", () => {
  it("contains the objects of its own service and not those of others", () => {
    const { objects } = why(mesh(), proxy(), "cds", cluster);
    const names = objects.filter(({ read }) => read !== "absent").map(({ kind, name }) => `${kind} ${name}`);
    expect(names).toContain("Service cart");
    expect(names).toContain("DestinationRule cart");
    expect(names).not.toContain("Service bill");
  });

  it("lists the fields with an effect if dry runs are allowed", () => {
    const { objects } = why(mesh(), proxy(), "cds", cluster, 2000);
    const fields = (kind: string): readonly string[] | undefined =>
      objects.find((each) => each.kind === kind)?.effect?.fields;
    expect(fields("DestinationRule")).toEqual(["spec.host", "spec.trafficPolicy.connectionPool.tcp.maxConnections"]);
    expect(fields("Service")).toEqual(expect.arrayContaining(["spec.ports[0].name", "spec.ports[0].port"]));
    expect(fields("Service")).not.toContain("spec.selector.app");
    expect(fields("MeshConfig")).toContain("connectTimeout");
  });

  it("lists the selector by which an object does not apply", () => {
    const policy = object("AuthorizationPolicy", "away", { selector: { matchLabels: { app: "bill" } }, rules: [{}] });
    const { objects } = why(
      meshOf(service("cart") + policy),
      proxy("sidecar", "shop", { app: "cart" }),
      "lds",
      "virtualInbound",
      2000,
    );
    expect(objects.find(({ kind }) => kind === "AuthorizationPolicy")?.effect?.fields).toEqual([
      "spec.selector.matchLabels.app",
    ]);
  });

  it("leaves the database unchanged and stops when the budget is exhausted", () => {
    const database = mesh();
    const { revision } = database;
    const view = database.view(proxy());
    const before = explain(database, view);
    const { objects } = why(database, proxy(), "cds", cluster, 3);
    expect(database.revision).toBe(revision);
    expect(explain(database, view)).toEqual(before);
    expect(objects.filter(({ effect }) => effect !== undefined).length).toBeLessThan(3);
  });

  it("contains facts with their answers, and inputs that were read and not found", () => {
    const { facts, objects } = why(
      meshOf(
        service("cart") +
          object("DestinationRule", "near", { host: "cart", workloadSelector: { matchLabels: { app: "web" } } }),
      ),
      proxy("sidecar", "shop", { app: "web" }),
      "cds",
      cluster,
    );
    expect(facts).toContainEqual({ fact: "matchesLabels", arg: { app: "web" }, answer: true });
    expect(objects).toContainEqual(
      expect.objectContaining({ kind: "Environment", name: "PILOT_SEND_UNHEALTHY_ENDPOINTS", read: "absent" }),
    );
  });

  it("exists for every resource of a proxy, including static ones", () => {
    const database = mesh();
    const all = explain(database, database.view(proxy()));
    expect(all.filter(({ type }) => type === "cds").map(({ name }) => name)).toEqual(
      expect.arrayContaining([cluster, `outbound|80|v1|${cart}`, "BlackHoleCluster", "PassthroughCluster"]),
    );
    expect(new Set(all.map(({ type }) => type))).toEqual(new Set(["cds", "eds", "lds", "rds", "nds"]));
    const blackHole = all.find(({ name }) => name === "BlackHoleCluster");
    expect(blackHole?.objects.map(({ kind }) => kind)).not.toContain("DestinationRule");
  });

  it("exists for a resource that the proxy could subscribe to", () => {
    expect(why(mesh(), proxy(), "rds", "8080").objects.length).toBeGreaterThan(0);
  });

  it.each([
    "nonsense",
    "outbound|80||cat.shop.svc.cluster.local",
    "cat.shop.svc.cluster.local:80",
    "65536",
    "http.8080",
  ])("is empty for the unknown name %s", (name) => {
    const database = mesh();
    for (const type of ["sidecar", "router"] as const)
      expect(explain(database, database.view(proxy(type)), { name })).toEqual([]);
  });

  it("names fields of VirtualServices by path", () => {
    const { objects } = why(
      meshOf(
        service("cart") + route("cart", cart, { http: [{ timeout: "3s", route: [{ destination: { host: cart } }] }] }),
      ),
      proxy(),
      "rds",
      "80",
      2000,
    );
    expect(objects.find(({ kind }) => kind === "VirtualService")?.effect?.fields).toEqual(
      expect.arrayContaining(["spec.http[0].timeout", "spec.hosts[0]"]),
    );
  });
});

describe("the nearest resources to a name", () => {
  const nearest = (name: string, type?: string): readonly string[] => {
    const database = mesh();
    const found = type === undefined ? undefined : resourceType(type);
    return nearestResources(database.view(proxy()), name, found && [found]).map((near) => `${near.type} ${near.name}`);
  };

  it("are those with a similar spelling", () => {
    expect(nearest(`outbound|80||cat.shop.svc.cluster.local`)).toEqual([
      `cds ${cluster}`,
      `cds outbound|80|v1|${cart}`,
      "cds outbound|80||bill.shop.svc.cluster.local",
    ]);
    expect(nearest("blackholecluster")).toEqual(["cds BlackHoleCluster"]);
    expect(nearest("virtualOutbond", "lds")).toEqual(["lds virtualOutbound", "lds virtualInbound"]);
    expect(nearest("virtualOutbond", "cds")).toEqual([]);
  });

  it("are those that contain it if none has a similar spelling", () => {
    expect(nearest("cart")).toEqual([`cds ${cluster}`, `cds outbound|80|v1|${cart}`]);
    expect(nearest("nonsense")).toEqual([]);
  });
});
