import { fromBinary } from "@bufbuild/protobuf";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  destinationRules,
  gateways,
  pods,
  readText,
  serviceEntries,
  serviceEntriesByHost,
  services,
  setObjects,
  virtualServices,
  virtualServicesByGateway,
} from "@istiod/config-schema";
import { YamlMesh } from "@istiod/config-schema/testing";
import { type Collection, Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { Deliveries, parseName, statusOf, ChangeLog, formatStatus } from "@istiod/push-report";
import { generators, lookups, warmUp } from "@istiod/xds-generators";
import {
  clusterType,
  type Connection,
  createXdsServer,
  endpointType,
  listenerType,
  routeType,
  type Variant,
} from "@istiod/xds-server";
import { EnvoyClient } from "@istiod/xds-server/testing";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";
import { describeIndexFailure, indexFailureLog } from "@istiod/mesh-source";
import { MeshSource } from "@istiod/mesh-source";
import { node } from "@istiod/mesh-source/testing";
import { istio, service } from "@istiod/config-schema/testing";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/**
 * Writes an object that validation would refuse, past validation: the seam by which a generator is made to throw, as a
 * fault of istiod would. `change` gets the object's data.
 */
function corrupt<V extends object>(mesh: YamlMesh<Proxy>, of: Collection<V>, key: string, change: (v: V) => V): void {
  const found = mesh.db.read(of, key);
  if (found === undefined) throw new Error(`no ${of.name} ${key}`);
  mesh.db.commit((tx) => tx.set(of, key, change(found)));
}

/** A mesh in this process, without validation between its database and the proxies. */
class Served extends YamlMesh<Proxy> {
  readonly lines: Readonly<Record<string, unknown>>[] = [];
  readonly log = pino(
    { level: "warn" },
    { write: (line) => void this.lines.push(JSON.parse(line) as object as never) },
  );
  readonly source = new MeshSource({ database: this.db, log: this.log });
  readonly deliveries = new Deliveries();
  readonly server = createXdsServer(this.source, { observe: (event) => this.deliveries.observe(event) });

  async connect(
    variant: Variant,
    host: string,
    type: "sidecar" | "router" = "sidecar",
    of = node(host, "10.0.9.9", { type }),
  ): Promise<EnvoyClient> {
    const { port } = await this.server.listen({ host: "127.0.0.1", port: 0 });
    ends.push(() => this.server.close({ graceMs: 0 }));
    const proxy = new EnvoyClient({ host: "127.0.0.1", port }, { variant, node: of });
    ends.push(() => proxy.close());
    await proxy.initialized();
    await proxy.settled();
    return proxy;
  }

  status(object: string): Promise<string> {
    const clock = { now: Date.now, after: () => () => undefined };
    return statusOf(
      {
        database: this.db,
        deliveries: this.deliveries,
        connections: () => this.server.connections(),
        changes: new ChangeLog({ clock, pendingRevision: () => undefined }),
        generators,
        lookups,
        viewOf: ({ node: of }: Pick<Connection, "node">) => this.source.clientOf(of)?.view,
      } as never,
      parseName(object),
    ).then(formatStatus);
  }
}

const base = [service("cart.shop", "10.1.0.1"), service("pay.shop", "10.1.0.2")].join("\n---\n");
const rule = (name: string, seconds: number): string =>
  istio(
    "DestinationRule",
    name,
    "shop",
    `
host: ${name}
trafficPolicy: {connectionPool: {tcp: {connectTimeout: ${seconds}s}}}
`,
  );
const routes = (name: string, seconds: number): string =>
  istio(
    "VirtualService",
    name,
    "shop",
    `
hosts: [${name}]
http: [{timeout: ${seconds}s, route: [{destination: {host: ${name}}}]}]
`,
  );

const cluster = (name: string): string => `outbound|80||${name}.shop.svc.cluster.local`;

function connectTimeout(proxy: EnvoyClient, name: string): number | undefined {
  const found = proxy.resources(clusterType).get(cluster(name));
  return found && Number(fromBinary(ClusterSchema, found.bytes).connectTimeout?.seconds);
}

function routeTimeout(proxy: EnvoyClient, name: string, route = "80"): number | undefined {
  const found = proxy.resources(routeType).get(route);
  const hosts = found === undefined ? [] : fromBinary(RouteConfigurationSchema, found.bytes).virtualHosts;
  const action = hosts.find((host) => host.name.startsWith(`${name}.`))?.routes[0]?.action;
  return action?.case === "route" ? Number(action.value.timeout?.seconds ?? 0) : undefined;
}

const garbage = { toString: 1 } as never;

describe.each(["delta", "sotw"] as const)("a resource that cannot be generated, by %s", (variant) => {
  test("fails as one cluster: its last good version stays, neighbours are pushed, and it recovers", async () => {
    const mesh = new Served([base, rule("cart", 3), rule("pay", 3)].join("\n---\n"));
    const proxy = await mesh.connect(variant, "web.shop");
    expect([connectTimeout(proxy, "cart"), connectTimeout(proxy, "pay")]).toEqual([3, 3]);
    corrupt(mesh, destinationRules, "shop/cart", (object) => ({
      ...object,
      spec: {
        ...object.spec,
        trafficPolicy: { ...object.spec.trafficPolicy, connectionPool: { tcp: garbage } } as never,
      },
    }));
    mesh.apply(rule("pay", 5)).apply(service("new.shop", "10.1.0.3"));
    await proxy.settled();
    expect([connectTimeout(proxy, "cart"), connectTimeout(proxy, "pay"), connectTimeout(proxy, "new")]).toEqual([
      3, 5, 10,
    ]);
    expect([...mesh.source.failed().keys()].join()).toContain(cluster("cart"));
    expect(mesh.lines).toContainEqual(
      expect.objectContaining({
        msg: "generation failed, keeping the last good config",
        objects: expect.arrayContaining(["DestinationRule shop/cart"]) as unknown,
      }),
    );
    expect(await mesh.status("DestinationRule/shop/cart")).toContain("live on 0 of 1");
    expect(await mesh.status("DestinationRule/shop/pay")).toContain("live on 1 of 1");
    mesh.apply(rule("cart", 7));
    await proxy.settled();
    expect(connectTimeout(proxy, "cart")).toBe(7);
    expect(mesh.source.failed().size).toBe(0);
    expect(await mesh.status("DestinationRule/shop/cart")).toContain("live on 1 of 1");
  });

  test("is left out for a proxy that never had it", async () => {
    const mesh = new Served([base, rule("cart", 3)].join("\n---\n"));
    corrupt(mesh, destinationRules, "shop/cart", (object) => ({
      ...object,
      spec: {
        ...object.spec,
        trafficPolicy: { ...object.spec.trafficPolicy, connectionPool: { tcp: garbage } } as never,
      },
    }));
    const proxy = await mesh.connect(variant, "web.shop");
    expect(connectTimeout(proxy, "pay")).toBe(10);
    expect(proxy.resources(clusterType).has(cluster("cart"))).toBe(false);
    mesh.apply(rule("cart", 3));
    await proxy.settled();
    expect(connectTimeout(proxy, "cart")).toBe(3);
  });

  test.each([
    ["route", { http: [{ match: [], route: [{ destination: garbage, weight: "x" }], headers: 5 }] }],
    ["list of matches", { http: [{ route: [] }] }],
    ["list of hosts", { hosts: ["cart", 5], http: 7 }],
  ])("fails as one virtual host, for a bad %s", async (_, spec) => {
    const mesh = new Served([base, routes("cart", 3), routes("pay", 3)].join("\n---\n"));
    const proxy = await mesh.connect(variant, "web.shop");
    expect([routeTimeout(proxy, "cart"), routeTimeout(proxy, "pay")]).toEqual([3, 3]);
    corrupt(mesh, virtualServices, "shop/cart", (object) => ({
      ...object,
      spec: { ...object.spec, ...spec } as never,
    }));
    mesh.apply(routes("pay", 5)).apply(service("new.shop", "10.1.0.3"));
    await proxy.settled();
    expect([routeTimeout(proxy, "cart"), routeTimeout(proxy, "pay")]).toEqual([3, 5]);
    expect(routeTimeout(proxy, "new")).toBe(0);
    expect([...mesh.source.failed().keys()].join()).toContain("VirtualService shop/cart");
    expect(await mesh.status("VirtualService/shop/cart")).not.toContain("live on 1 of 1");
    mesh.apply(routes("cart", 7));
    await proxy.settled();
    expect(routeTimeout(proxy, "cart")).toBe(7);
    expect(mesh.source.failed().size).toBe(0);
  });

  test("fails as what is made of one service", async () => {
    const mesh = new Served(base);
    const proxy = await mesh.connect(variant, "web.shop");
    const before = [...proxy.resources(listenerType).keys()].sort();
    corrupt(mesh, services, "Kubernetes/shop/cart", (object) => ({
      ...object,
      spec: { ...object.spec, ports: garbage, clusterIP: 5 } as never,
    }));
    mesh.apply(rule("pay", 5)).apply(service("new.shop", "10.1.0.3"));
    await proxy.settled();
    expect([connectTimeout(proxy, "cart"), connectTimeout(proxy, "pay"), connectTimeout(proxy, "new")]).toEqual([
      10, 5, 10,
    ]);
    expect(proxy.resources(endpointType).has(cluster("cart"))).toBe(true);
    expect(routeTimeout(proxy, "cart")).toBe(0);
    expect([...proxy.resources(listenerType).keys()].sort()).toEqual(before);
    mesh.apply(service("cart.shop", "10.1.0.1"));
    await proxy.settled();
    expect(mesh.source.failed().size).toBe(0);
  });

  test("fails as one listener of a gateway, or one server", async () => {
    const gateway = (name: string, port: number): string =>
      istio(
        "Gateway",
        name,
        "shop",
        `
selector: {app: gw}
servers: [{port: {number: ${port}, name: http, protocol: HTTP}, hosts: ["*"]}]
`,
      );
    const mesh = new Served([base, gateway("one", 8080), gateway("two", 8081)].join("\n---\n"));
    const proxy = await mesh.connect(variant, "gw.shop", "router");
    expect([...proxy.resources(listenerType).keys()].sort()).toEqual(["0.0.0.0_8080", "0.0.0.0_8081"]);
    corrupt(mesh, gateways, "shop/one", (object) => ({
      ...object,
      spec: { ...object.spec, servers: [{ ...object.spec.servers[0], hosts: 5 }] as never },
    }));
    mesh.apply(gateway("three", 8082));
    await proxy.settled();
    const all = ["0.0.0.0_8080", "0.0.0.0_8081", "0.0.0.0_8082"];
    expect([...proxy.resources(listenerType).keys()].sort()).toEqual(all);
    expect([...proxy.resources(routeType).keys()].sort()).toEqual(["http.8080", "http.8081", "http.8082"]);
    expect([...mesh.source.failed().keys()].join()).toContain("Gateway shop/one");
    mesh.remove(gateway("one", 8080));
    await proxy.settled();
    expect([...proxy.resources(listenerType).keys()].sort()).toEqual(all.slice(1));
  });
});

interface AnyObject {
  readonly spec?: object;
  readonly status?: object;
}

describe.each(["delta", "sotw"] as const)(
  "a proxy that reconnects while a resource cannot be generated, by %s",
  (variant) => {
    const mesh = (): Served => new Served([base, rule("cart", 3), rule("pay", 3)].join("\n---\n"));
    const breakCart = (served: Served): void =>
      corrupt(served, destinationRules, "shop/cart", (object) => ({
        ...object,
        spec: {
          ...object.spec,
          trafficPolicy: { ...object.spec.trafficPolicy, connectionPool: { tcp: garbage } } as never,
        },
      }));

    test("keeps its last good version, through several streams, and gets the mended one", async () => {
      const served = mesh();
      const proxy = await served.connect(variant, "web.shop");
      breakCart(served);
      await proxy.settled();
      for (let stream = 0; stream < 3; stream++) {
        proxy.reconnect();
        await proxy.initialized();
        served.apply(rule("pay", 5 + stream));
        await proxy.settled();
        expect([connectTimeout(proxy, "cart"), connectTimeout(proxy, "pay")]).toEqual([3, 5 + stream]);
        expect(proxy.resources(endpointType).has(cluster("cart"))).toBe(true);
      }
      served.apply(rule("cart", 7));
      await proxy.settled();
      expect(connectTimeout(proxy, "cart")).toBe(7);
    });

    test("loses it when the object is gone", async () => {
      const served = mesh();
      const proxy = await served.connect(variant, "web.shop");
      breakCart(served);
      await proxy.settled();
      proxy.reconnect();
      await proxy.initialized();
      served.remove(service("cart.shop", "10.1.0.1"));
      await proxy.settled();
      expect(proxy.resources(clusterType).has(cluster("cart"))).toBe(false);
      expect(connectTimeout(proxy, "pay")).toBe(3);
    });

    test("shares it with a new replica of its workload, and not with another proxy", async () => {
      const served = mesh();
      const web = (ip: string) => node("web.shop", ip);
      const proxy = await served.connect(variant, "web.shop", "sidecar", web("10.0.9.1"));
      breakCart(served);
      await proxy.settled();
      const replica = await served.connect(variant, "web.shop", "sidecar", web("10.0.9.2"));
      const other = await served.connect(variant, "api.pay");
      expect(connectTimeout(replica, "cart")).toBe(3);
      expect(connectTimeout(other, "cart")).toBeUndefined();
      expect(connectTimeout(other, "pay")).toBe(3);
    });
  },
);

describe("a delta proxy that reconnects to an istiod that never generated a resource", () => {
  async function moved() {
    const [one, two] = [base, base].map((text) => new Served([text, rule("cart", 3), rule("pay", 3)].join("\n---\n")));
    if (one === undefined || two === undefined) throw new Error("no meshes");
    const proxy = await one.connect("delta", "web.shop");
    corrupt(two, destinationRules, "shop/cart", (object) => ({
      ...object,
      spec: { ...object.spec, trafficPolicy: { connectionPool: { tcp: garbage } } as never },
    }));
    const { port } = await two.server.listen({ host: "127.0.0.1", port: 0 });
    ends.push(() => two.server.close({ graceMs: 0 }));
    proxy.reconnect({ host: "127.0.0.1", port });
    await proxy.initialized();
    await proxy.settled();
    return { proxy, two };
  }

  test("keeps what it has, gets its neighbors, and the mended version", async () => {
    const { proxy, two } = await moved();
    two.apply(rule("pay", 5));
    await proxy.settled();
    expect([connectTimeout(proxy, "cart"), connectTimeout(proxy, "pay")]).toEqual([3, 5]);
    two.apply(rule("cart", 7));
    await proxy.settled();
    expect(connectTimeout(proxy, "cart")).toBe(7);
  });

  test("loses it when the object is gone", async () => {
    const { proxy, two } = await moved();
    expect(connectTimeout(proxy, "cart")).toBe(3);
    two.remove(service("cart.shop", "10.1.0.1"));
    await proxy.settled();
    expect(proxy.resources(clusterType).has(cluster("cart"))).toBe(false);
  });
});

describe.each(["delta", "sotw"] as const)("an object that cannot be indexed, by %s", (variant) => {
  const entry = (name: string): string =>
    istio(
      "ServiceEntry",
      name,
      "shop",
      `\nhosts: [${name}.example.com]\nports: [{number: 80, name: http, protocol: HTTP}]\n`,
    );

  test.each<[string, Collection<AnyObject>, string, object]>([
    ["a ServiceEntry", serviceEntries as never, "shop/one", { hosts: 5 }],
    ["a VirtualService", virtualServices as never, "shop/cart", { gateways: 5 }],
    ["a DestinationRule", destinationRules as never, "shop/cart", { host: 5 }],
    ["a Pod", pods as never, "Kubernetes/shop/web", {}],
  ])("does not hold up the others of its commit: %s", async (_, of, key, spec) => {
    const mesh = new Served([base, rule("cart", 3), routes("cart", 3), entry("one")].join("\n---\n"));
    const proxy = await mesh.connect(variant, "web.shop");
    const before =
      mesh.db.read(of, key) ?? ({ namespace: "shop", name: "web", cluster: "Kubernetes", labels: {} } as never);
    const status = of === (pods as never) ? { status: { podIPs: 5 } } : {};
    // Gateways read this index.
    mesh.db.read(virtualServicesByGateway, "mesh");
    const { objects } = readText(rule("pay", 5), "test.yaml")[0] ?? { objects: [] };
    mesh.db.commit((tx) => {
      tx.set(of, key, { ...before, ...status, spec: { ...before.spec, ...spec } });
      setObjects(tx, objects);
    });
    await proxy.settled();
    expect(connectTimeout(proxy, "pay")).toBe(5);
    const failures = mesh.db.indexFailures().map(describeIndexFailure);
    expect(failures).toContainEqual([`${of.name} ${key}`, { message: expect.stringMatching(/^index by/) as unknown }]);
    mesh.db.commit((tx) => tx.delete(of, key));
    await proxy.settled();
    expect(mesh.db.indexFailures()).toEqual([]);
  });
});

test("objects that cannot be indexed are logged once", () => {
  const lines: object[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as object) });
  const db = new Database({ onIndexFailure: indexFailureLog(log) });
  db.commit((tx) => tx.set(serviceEntries, "shop/one", { spec: { hosts: 5 } } as never));
  expect(db.read(serviceEntriesByHost, "a")).toEqual([]);
  db.read(serviceEntriesByHost, "a");
  expect(lines).toEqual([
    expect.objectContaining({
      msg: "object cannot be indexed",
      object: "ServiceEntry shop/one",
      reason: expect.stringMatching(/^index byHost: /) as unknown,
    }),
  ]);
});

test("warm-up computes all that does not fail", async () => {
  const mesh = new Served([base, rule("cart", 3)].join("\n---\n"));
  corrupt(mesh, destinationRules, "shop/cart", (object) => ({
    ...object,
    spec: {
      ...object.spec,
      trafficPolicy: { ...object.spec.trafficPolicy, connectionPool: { tcp: garbage } } as never,
    },
  }));
  expect(await warmUp({ database: mesh.db, cluster: "Kubernetes", limitMs: 1000 })).toMatchObject({ all: true });
});
