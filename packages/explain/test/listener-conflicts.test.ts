import { fromBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { environment } from "@istiod/config-schema";
import { MemoryMeter } from "@istiod/metrics/testing";
import type { Query, View } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import { listenerType } from "@istiod/resources";
import { omissions } from "@istiod/xds-generators";
import { describe, expect, it, test } from "vitest";
import { modelMetrics, OmissionObserver, omittedParts, proxyResources } from "../src/index.js";
import { meshOf, object, proxy, why } from "./mesh.js";

const at = (namespace: string, name: string): string => `${name}.${namespace}.svc.cluster.local`;
function service(
  name: string,
  port: number,
  portName: string,
  options: { ip?: string; namespace?: string; created?: number } = {},
): string {
  const { ip = "10.96.0.1", ...rest } = options;
  return object(
    "Service",
    name,
    { clusterIP: ip, selector: { app: name }, ports: [{ name: portName, port, targetPort: port }] },
    rest,
  );
}
const entry = (
  name: string,
  host: string,
  port: number,
  protocol: string,
  options: { namespace?: string; created?: number; more?: object } = {},
): string =>
  object(
    "ServiceEntry",
    name,
    { hosts: [host], ports: [{ name: "p", number: port, protocol }], resolution: "DNS", ...options.more } as never,
    options,
  );
const to = (host: string): never => [{ destination: { host } }] as never;
const lines = (yaml: string, name: string, client = proxy()): string[] =>
  why(meshOf(yaml), client, "lds", name).ignored.map(
    ({ kind, name: overridden, reason }) => `${kind} ${overridden} ${reason}`,
  );

describe("at a sidecar's listener", () => {
  it("a TLS route is overridden by an older VirtualService with the same SNI", () => {
    const tls = (name: string, created: number): string =>
      object(
        "VirtualService",
        name,
        { hosts: [at("shop", "db")], tls: [{ match: [{ port: 443, sniHosts: [at("shop", "db")] }], route: to("db") }] },
        { created },
      );
    const { ignored } = why(
      meshOf(service("db", 443, "tls") + tls("old", 1) + tls("new", 2)),
      proxy(),
      "lds",
      "10.96.0.1_443",
    );
    expect(ignored).toEqual([
      {
        kind: "VirtualService",
        namespace: "shop",
        name: "new",
        field: "spec.tls[0].match[0]",
        overriddenBy: { kind: "VirtualService", namespace: "shop", name: "old", field: "spec.tls[0].match[0]" },
        reason:
          "spec.tls[0].match[0] is overridden by VirtualService shop/old spec.tls[0].match[0]: only the first match for SNI db.shop.svc.cluster.local at port 443 applies",
      },
    ]);
  });

  it("a TCP route is overridden by an earlier one that matches every connection, also in the same VirtualService", () => {
    const tcp = (name: string, routes: readonly object[], created = 1): string =>
      object("VirtualService", name, { hosts: [at("shop", "db")], tcp: routes as never }, { created });
    const all = { route: to("db") };
    const other = { match: [{ port: 1 }], route: to("db") };
    const found = lines(
      service("db", 5432, "tcp") +
        tcp("old", [other, all, all]) +
        tcp("new", [other, { match: [{ destinationSubnets: ["10.0.0.0/8"] }], route: to("db") }], 2),
      "10.96.0.1_5432",
    );
    expect(found).toEqual([
      `VirtualService old spec.tcp[2] is overridden by VirtualService shop/old spec.tcp[1]: its route matches every connection to ${at("shop", "db")}:5432`,
      `VirtualService new spec.tcp[1] is overridden by VirtualService shop/old spec.tcp[1]: its route matches every connection to ${at("shop", "db")}:5432`,
    ]);
  });

  it("the first of several services that match the same connections applies", () => {
    const yaml =
      entry("one", "one.example.com", 5000, "TCP") + entry("two", "two.example.com", 5000, "TCP", { created: 2 });
    expect(lines(yaml, "0.0.0.0_5000")).toEqual([
      "ServiceEntry two spec.ports[0] is overridden by ServiceEntry shop/one spec.ports[0]: both match the same connections to 0.0.0.0:5000",
    ]);
  });

  it("a route that shares one of its SNI hosts or ranges with an earlier one keeps the others", () => {
    const [a, b] = ["a.example.com", "b.example.com"];
    const wildcard = object("ServiceEntry", "all", {
      hosts: ["*.example.com"],
      ports: [{ number: 443, name: "tls", protocol: "TLS" }],
      resolution: "NONE",
    } as never);
    const tls = (name: string, sniHosts: readonly string[], created: number): string =>
      object(
        "VirtualService",
        name,
        { hosts: ["*.example.com"], tls: [{ match: [{ sniHosts }], route: [{ destination: { host: a } }] }] } as never,
        { created },
      );
    expect(
      lines(entry("a", a, 443, "TLS") + wildcard + tls("old", [a], 1) + tls("new", [a, b], 2), "0.0.0.0_443"),
    ).toContain(
      "VirtualService new spec.tls[0].match[0] is overridden by VirtualService shop/old spec.tls[0].match[0]: both match connections for a.example.com to 0.0.0.0:443",
    );
    const tcp = (name: string, destinationSubnets: readonly string[], created: number): string =>
      object(
        "VirtualService",
        name,
        { hosts: [`${name}.example.com`], tcp: [{ match: [{ destinationSubnets }], route: to("db") }] } as never,
        { created },
      );
    expect(
      lines(
        entry("one", "one.example.com", 5000, "TCP") +
          entry("two", "two.example.com", 5000, "TCP", { created: 2 }) +
          tcp("one", ["10.1.0.0/16"], 1) +
          tcp("two", ["10.1.0.1/16", "10.2.0.0/16"], 2),
        "0.0.0.0_5000",
      ),
    ).toContain(
      "VirtualService two spec.tcp[0] is overridden by VirtualService shop/one spec.tcp[0]: both match connections for 10.1.0.0/16 to 0.0.0.0:5000",
    );
  });

  it("HTTP services share a port, with each other and with TLS services that have SNI hosts", () => {
    expect(lines(service("a", 80, "http") + service("b", 80, "http", { ip: "10.96.0.2" }), "0.0.0.0_80")).toEqual([]);
    expect(
      lines(entry("web", "web.example.com", 443, "HTTP") + entry("tls", "tls.example.com", 443, "TLS"), "0.0.0.0_443"),
    ).toEqual([]);
  });

  it("MySQL does not share a port with other protocols", () => {
    const yaml =
      entry("db", "db.example.com", 3306, "MySQL") + entry("web", "web.example.com", 3306, "HTTP", { created: 2 });
    expect(lines(yaml, "0.0.0.0_3306")).toEqual([
      "ServiceEntry web spec.ports[0] is overridden by ServiceEntry shop/db spec.ports[0]: HTTP cannot share 0.0.0.0:3306 with MySQL: one of them is a server-first protocol",
    ]);
  });

  it("a Sidecar's egress listener overrides services on its port that it does not import", () => {
    const sidecar = object("Sidecar", "own", {
      egress: [
        { port: { number: 80, protocol: "HTTP", name: "http" }, hosts: ["shop/" + at("shop", "a")] },
        { hosts: ["*/*"] },
      ],
    });
    const yaml = service("a", 80, "http") + service("b", 80, "http", { ip: "10.96.0.2" }) + sidecar;
    expect(lines(yaml, "0.0.0.0_80").filter((line) => line.startsWith("Service b"))).toEqual([
      "Service b spec.ports[0] is overridden by Sidecar shop/own spec.egress[0]: an egress listener of a Sidecar already uses 0.0.0.0:80",
    ]);
  });
});

describe("an SNI with a wildcard within a label", () => {
  const tlsRoute = object("VirtualService", "vs", {
    hosts: ["*.example.com"],
    tls: [{ match: [{ port: 443, sniHosts: ["*a.example.com", "b.example.com"] }], route: to("db") }],
  });

  it("is left out of a sidecar's chain, and a chain without another SNI altogether", () => {
    const yaml =
      entry("db", "db.example.com", 443, "TLS") +
      entry("part", "*-a.example.com", 443, "TLS", { created: 2, more: { resolution: "NONE" } });
    expect(lines(yaml, "0.0.0.0_443")).toEqual([
      "ServiceEntry part spec.ports[0] is left out: proxies do not support SNI *-a.example.com: a wildcard must be a whole label",
    ]);
    expect(
      lines(
        entry("all", "*.example.com", 443, "TLS", { more: { resolution: "NONE" } }) +
          service("db", 443, "tls") +
          tlsRoute,
        "0.0.0.0_443",
      ),
    ).toEqual([
      "VirtualService vs spec.tls[0].match[0] is left out: proxies do not support SNI *a.example.com: a wildcard must be a whole label",
    ]);
  });

  it("has no listener if the listener would have no other chain", () => {
    const database = meshOf(entry("part", "*-a.example.com", 443, "TLS", { more: { resolution: "NONE" } }));
    const names = [...(proxyResources(database, proxy()).get(listenerType) ?? [])].map(({ name }) => name);
    expect(names).toEqual(["virtualOutbound", "virtualInbound"]);
  });

  it("counts as an omitted part, with the object and the reason", () => {
    const database = meshOf(
      entry("db", "db.example.com", 443, "TLS") +
        entry("part", "*-a.example.com", 443, "TLS", { created: 2, more: { resolution: "NONE" } }),
    );
    const meter = new MemoryMeter();
    const client = proxy();
    const faults = modelMetrics(meter, {
      database,
      clients: () => [{ proxy: client, view: database.view(client) }],
      ownCluster: "Kubernetes",
      remoteClusters: () => [],
    });
    expect([...(faults()["istiod_omitted_config_parts"] ?? [])]).toEqual([
      [
        "ServiceEntry shop/part spec.ports[0]",
        {
          proxy: client.nodeId,
          message:
            "spec.ports[0] is left out: proxies do not support SNI *-a.example.com: a wildcard must be a whole label",
        },
      ],
    ]);
  });
});

it("a policy that is too many bytes at all chains of a workload is reported, with what is denied", () => {
  const paths = Array.from({ length: 1000 }, (_, i) => `/${i}`);
  const policy = object("AuthorizationPolicy", "paths", {
    action: "DENY",
    rules: [{ to: [{ operation: { paths } }] }],
  } as never);
  const database = meshOf(policy);
  database.commit((tx) => tx.set(environment, "ISTIOD_MAX_POLICY_BYTES_OF_WORKLOAD", "10000"));
  const client = proxy();
  const reason =
    /^spec is left out: with all policies of the workload, and every request is denied in their place: 2 HTTP filter chains × \d+ \+ 3 TCP filter chains × \d+ bytes of policies = \d+ bytes, of at most 10000 \(ISTIOD_MAX_POLICY_BYTES_OF_WORKLOAD\)$/;
  expect(omittedParts([{ proxy: client, view: database.view(client) }])).toMatchObject([
    {
      kind: "AuthorizationPolicy",
      namespace: "shop",
      name: "paths",
      proxies: 1,
      reason: expect.stringMatching(reason) as string,
    },
  ]);
  expect(why(database, client, "lds", "virtualInbound").ignored).toMatchObject([
    { kind: "AuthorizationPolicy", namespace: "shop", name: "paths", reason: expect.stringMatching(reason) as string },
  ]);
});

it("a part that some proxies lack is reported once, with their number, and again when none lacks it", async () => {
  const tls = (name: string, created: number, more: object = {}): string =>
    object(
      "VirtualService",
      name,
      {
        hosts: [at("shop", "db")],
        exportTo: ["."],
        tls: [{ match: [{ port: 443, sniHosts: [at("shop", "db")] }], route: to("db") }],
        ...more,
      },
      { created },
    );
  const database = meshOf(service("db", 443, "tls") + tls("old", 1) + tls("new", 2));
  const proxies = [proxy(), proxy(), proxyFromNode({ id: "sidecar~10.1.0.9~till.pay~pay.svc.cluster.local" })];
  const clients = proxies.map((each) => ({ proxy: each, view: database.view(each) }));
  expect(omittedParts(clients)).toMatchObject([
    { kind: "VirtualService", namespace: "shop", name: "new", proxies: 2, proxy: proxies[0]!.nodeId },
  ]);
  const events: string[] = [];
  const connected = [...clients];
  let look = (): void => undefined;
  let looks = 0;
  const observer = new OmissionObserver({
    database,
    clients: () => connected,
    changed: (found, gone) => {
      for (const [part, { message }] of found) events.push(`+ ${part}: ${message}`);
      for (const part of gone.keys()) events.push(`- ${part}`);
    },
    clock: {
      after: (_, callback) => {
        looks++;
        look = callback;
        return () => undefined;
      },
    },
  });
  const lookAgain = async (): Promise<void> => {
    const before = looks;
    look();
    await expect.poll(() => looks).toBe(before + 1);
  };
  await lookAgain();
  await lookAgain();
  const part = "VirtualService shop/new spec.tls[0].match[0]";
  expect(events).toEqual([`+ ${part}: ${omittedParts(clients)[0]!.reason}`]);
  expect(events[0]).toContain("is overridden by VirtualService shop/old spec.tls[0].match[0]: ");
  for (const { view } of connected.splice(0, 2)) view.release();
  await lookAgain();
  expect(events.slice(1)).toEqual([`- ${part}`]);
  observer.stop();
});

it("does not look at proxies that disconnect while it looks", async () => {
  const database = meshOf(service("db", 443, "tls"));
  const clients = [proxy(), proxy()].map((each) => ({ proxy: each, view: database.view(each) }));
  const connected = [...clients];
  const read: number[] = [];
  let look = (): void => undefined;
  let looked = 0;
  const slow = clients.map(({ proxy: each, view }, index) => ({
    proxy: each,
    view: {
      ...view,
      call: ((query: Query<void, unknown>) => {
        read.push(index);
        const until = performance.now() + 10;
        while (performance.now() < until);
        return view.call(query);
      }) as View<Proxy>["call"],
    },
  }));
  const observer = new OmissionObserver({
    database,
    clients: () => slow.slice(0, connected.length),
    changed: () => undefined,
    clock: { after: (_, callback) => (looked++, (look = callback), () => undefined) },
    turn: async () => void connected.pop(),
  });
  look();
  await expect.poll(() => looked).toBe(2);
  expect(read).toEqual([0]);
  observer.stop();
});

it("a TCP service without an address is left out at a port on which the proxy itself listens", () => {
  const inbound = object("ServiceEntry", "inbound", {
    hosts: ["a.example.com"],
    ports: [{ number: 15006, name: "tls", protocol: "TLS" }],
    resolution: "NONE",
  });
  const database = meshOf(inbound);
  const client = proxy();
  const names = [...(proxyResources(database, client).get(listenerType) ?? [])].map(({ name }) => name);
  expect(names).toEqual(["virtualOutbound", "virtualInbound"]);
  expect(
    database
      .view(client)
      .call(omissions)
      .listenerConflicts.map(({ reason }) => reason),
  ).toEqual(["the proxy itself listens on 0.0.0.0:15006; give the service an address"]);
});

it("a Sidecar's ingress listener is left out at the address of an outbound listener", () => {
  const sidecar = (port: number): string =>
    object("Sidecar", "own", {
      egress: [{ hosts: ["*/*"] }],
      ingress: [
        { port: { number: 8080, name: "http", protocol: "HTTP" }, defaultEndpoint: "127.0.0.1:8081" },
        {
          port: { number: port, name: "tcp", protocol: "TCP" },
          bind: "10.96.0.1",
          captureMode: "NONE",
          defaultEndpoint: "127.0.0.1:9001",
        },
      ],
    });
  const directionAt = (database: ReturnType<typeof meshOf>, name: string): TrafficDirection | undefined => {
    const found = proxyResources(database, proxy())
      .get(listenerType)
      ?.find((each) => each.name === name);
    return found && fromBinary(ListenerSchema, found.bytes).trafficDirection;
  };
  const taken = meshOf(service("db", 9000, "tcp") + sidecar(9000));
  expect(directionAt(taken, "10.96.0.1_9000")).toBe(TrafficDirection.OUTBOUND);
  const reason = "spec.ingress[1] is left out: an outbound listener has its address, 10.96.0.1_9000";
  expect(why(taken, proxy(), "lds", "10.96.0.1_9000").ignored).toMatchObject([
    { kind: "Sidecar", namespace: "shop", name: "own", reason },
  ]);
  const client = proxy();
  expect(omittedParts([{ proxy: client, view: taken.view(client) }])).toMatchObject([{ name: "own", reason }]);
  const free = meshOf(service("db", 9000, "tcp") + sidecar(9001));
  expect(directionAt(free, "10.96.0.1_9001")).toBe(TrafficDirection.INBOUND);
  expect(omittedParts([{ proxy: client, view: free.view(client) }])).toEqual([]);
});

it("an address of a Sidecar's egress listener in another form than a service's is one listener", () => {
  const sidecar = object("Sidecar", "own", {
    egress: [
      {
        port: { number: 5432, protocol: "TCP", name: "tcp" },
        bind: "2001:db8:0:0:0:0:0:1",
        hosts: ["shop/" + at("shop", "a")],
      },
      { hosts: ["*/*"] },
    ],
  });
  const yaml = service("a", 5432, "tcp") + service("b", 5432, "tcp", { ip: "2001:db8::1" }) + sidecar;
  const names = [...(proxyResources(meshOf(yaml), proxy()).get(listenerType) ?? [])].map(({ name }) => name);
  expect(names.filter((name) => name.startsWith("2001"))).toEqual(["2001:db8:0:0:0:0:0:1_5432"]);
  expect(lines(yaml, "2001:db8:0:0:0:0:0:1_5432")).toEqual([
    "Service b spec.ports[0] is overridden by Sidecar shop/own spec.egress[0]: an egress listener of a Sidecar already uses 2001:db8::1:5432",
  ]);
});

describe("at a gateway's listener", () => {
  const gateway = (servers: readonly object[]): string =>
    object("Gateway", "edge", { selector: { app: "edge" }, servers: servers as never });
  const edge = proxy("router", "shop", { app: "edge" });

  it("a TLS route is overridden by an older VirtualService with the same SNI", () => {
    const tls = (name: string, created: number): string =>
      object(
        "VirtualService",
        name,
        {
          hosts: ["x.example.com"],
          gateways: ["edge"],
          tls: [{ match: [{ port: 443, sniHosts: ["x.example.com"] }], route: to("db") }],
        },
        { created },
      );
    const server = {
      port: { number: 443, name: "tls", protocol: "TLS" },
      hosts: ["*.example.com"],
      tls: { mode: "PASSTHROUGH" },
    };
    expect(
      lines(service("db", 443, "tls") + gateway([server]) + tls("old", 1) + tls("new", 2), "0.0.0.0_443", edge),
    ).toEqual([
      "VirtualService new spec.tls[0].match[0] is overridden by VirtualService shop/old spec.tls[0].match[0]: SNI x.example.com at port 443 is already in use",
    ]);
  });

  it("only the first TCP route of a port applies", () => {
    const tcp = (name: string, created: number): string =>
      object("VirtualService", name, { hosts: ["*"], gateways: ["edge"], tcp: [{ route: to("db") }] }, { created });
    const server = { port: { number: 5432, name: "tcp", protocol: "TCP" }, hosts: ["*"] };
    expect(
      lines(service("db", 5432, "tcp") + gateway([server]) + tcp("old", 1) + tcp("new", 2), "0.0.0.0_5432", edge),
    ).toEqual([
      "VirtualService new spec.tcp[0] is overridden by VirtualService shop/old spec.tcp[0]: only the first TCP route for port 5432 of Gateway shop/edge applies",
    ]);
  });
});

describe("a host declared by several services", () => {
  const host = "api.example.com";
  const reasons = (yaml: string, client = proxy()): string[] =>
    why(meshOf(yaml), client, "cds", `outbound|443||${host}`).ignored.map(
      ({ namespace, name, reason }) => `${namespace}/${name} ${reason}`,
    );
  const declared = (namespace: string, created = 1, more: object = {}): string =>
    entry("api", host, 443, "TLS", { namespace, created, more });

  it("resolves to the service in the client's namespace, else to the oldest", () => {
    const yaml = declared("old") + declared("shop", 2);
    expect(reasons(yaml)).toEqual([
      `old/api is overridden by ServiceEntry shop/api for ${host}: services in the client's own namespace take precedence`,
    ]);
    expect(reasons(yaml, proxy("sidecar", "web"))).toEqual([
      `shop/api is overridden by ServiceEntry old/api for ${host}, which takes precedence by age, name and namespace`,
    ]);
  });

  it("never resolves to a service that is not exported to the client", () => {
    expect(reasons(declared("old", 1, { exportTo: ["."] }) + declared("other", 2))).toEqual([
      "old/api is not exported to namespace shop",
    ]);
  });

  it("resolves to the service that the Sidecar imports", () => {
    const sidecar = object("Sidecar", "own", { egress: [{ hosts: ["other/*"] }] });
    expect(reasons(declared("other", 3) + declared("shop", 1) + sidecar)).toEqual([
      `shop/api is overridden by ServiceEntry other/api for ${host}: Sidecar shop/own does not import it from namespace shop`,
    ]);
  });

  it("takes only endpoints from a second declaration in the same namespace", () => {
    const again = object(
      "ServiceEntry",
      "again",
      { hosts: [host], ports: [{ name: "p", number: 443, protocol: "TLS" }], resolution: "DNS" },
      { created: 2 },
    );
    const [first] = why(meshOf(declared("shop") + again), proxy(), "cds", `outbound|443||${host}`).ignored;
    expect(first).toEqual({
      kind: "ServiceEntry",
      namespace: "shop",
      name: "again",
      field: `spec.hosts (${host})`,
      overriddenBy: { kind: "ServiceEntry", namespace: "shop", name: "api" },
      reason: `declares ${host} like ServiceEntry shop/api in the same namespace: the oldest declaration takes precedence, and this one only contributes endpoints`,
    });
  });

  it("is reported for the listeners and routes of its port too", () => {
    const yaml = declared("old") + declared("shop", 2);
    expect(why(meshOf(yaml), proxy(), "lds", "0.0.0.0_443").ignored).toMatchObject([
      { kind: "ServiceEntry", namespace: "old", name: "api" },
    ]);
  });
});

test("DestinationRules name the one that overrides them", () => {
  const rule = (namespace: string): string =>
    object("DestinationRule", "db", { host: at("shop", "db") }, { namespace });
  const { ignored } = why(
    meshOf(service("db", 5432, "tcp") + rule("web") + rule("shop") + rule("istio-system")),
    proxy("sidecar", "web"),
    "cds",
    `outbound|5432||${at("shop", "db")}`,
  );
  expect(
    ignored.map(({ namespace, overriddenBy }) => [
      namespace,
      `${overriddenBy?.kind} ${overriddenBy?.namespace}/${overriddenBy?.name}`,
    ]),
  ).toEqual([
    ["istio-system", "DestinationRule web/db"],
    ["shop", "DestinationRule web/db"],
  ]);
});

it("a server of a Gateway with TLS that is not terminated is not overridden by a later one that terminates it", () => {
  const server = (name: string, protocol: string, host: string, tls: object): object => ({
    port: { number: 443, name, protocol },
    hosts: [host],
    tls,
  });
  const gateway = (name: string, servers: readonly object[], created: number): string =>
    object("Gateway", name, { selector: { istio: "ingress" }, servers } as never, { created });
  const simple = { mode: "SIMPLE", credentialName: "cert" };
  const old = [
    server("https", "HTTPS", "*/b.example.com", simple),
    server("tls", "TLS", "*/a.example.com", { mode: "PASSTHROUGH" }),
  ];
  const yaml =
    service("db", 443, "tls") +
    gateway("old", old, 1) +
    object("VirtualService", "route", {
      hosts: ["a.example.com"],
      gateways: ["old"],
      tls: [{ match: [{ port: 443, sniHosts: ["a.example.com"] }], route: to("db") }],
    } as never) +
    gateway("new", [server("https-new", "HTTPS", "shop/a.example.com", simple)], 2);
  expect(lines(yaml, "0.0.0.0_443", proxy("router", "shop", { istio: "ingress" }))).toEqual([
    "Gateway new spec.servers[0] is overridden by VirtualService shop/route spec.tls[0].match[0]: both match the same connections to 0.0.0.0:443",
  ]);
});

it("the older of two servers of Gateways that pass TLS through keeps its SNI, also in a group that comes later", () => {
  const gateway = (name: string, created: number, protocol: string, host: string, tls: object): string =>
    object(
      "Gateway",
      name,
      {
        selector: { istio: "ingress" },
        servers: [{ port: { number: 443, name, protocol }, hosts: [host], tls }],
      } as never,
      { created },
    );
  const route = (name: string): string =>
    object("VirtualService", name, {
      hosts: ["x.example.com"],
      gateways: [name],
      tls: [{ match: [{ port: 443, sniHosts: ["x.example.com"] }], route: to("db") }],
    } as never);
  // The third server is in the group of the first one, whose protocol it shares.
  const yaml =
    service("db", 443, "tls") +
    gateway("first", 1, "HTTPS", "*/a.example.com", { mode: "SIMPLE", credentialName: "cert" }) +
    gateway("second", 2, "TLS", "shop/x.example.com", { mode: "PASSTHROUGH" }) +
    gateway("third", 3, "HTTPS", "*/x.example.com", { mode: "PASSTHROUGH" }) +
    route("second") +
    route("third");
  const client = proxy("router", "shop", { istio: "ingress" });
  expect(lines(yaml, "0.0.0.0_443", client)).toEqual([
    "VirtualService third spec.tls[0].match[0] is overridden by VirtualService shop/second spec.tls[0].match[0]: SNI x.example.com at port 443 is already in use",
  ]);
});

it("a server of a Gateway is overridden by an earlier one with the same SNI", () => {
  const gateway = (name: string, hosts: readonly string[], created: number): string =>
    object(
      "Gateway",
      name,
      {
        selector: { istio: "ingress" },
        servers: [
          {
            port: { number: 443, name: `https-${name}`, protocol: "HTTPS" },
            hosts,
            tls: { mode: "SIMPLE", credentialName: "cert" },
          },
        ],
      } as never,
      { created },
    );
  const client = proxy("router", "shop", { istio: "ingress" });
  expect(
    lines(gateway("old", ["*/a.example.com"], 1) + gateway("new", ["shop/a.example.com"], 2), "0.0.0.0_443", client),
  ).toEqual([
    "Gateway new spec.servers[0] is overridden by Gateway shop/old spec.servers[0]: both match the same connections to 0.0.0.0:443",
  ]);
  const hosts = ["shop/a.example.com", "*/b.example.com"];
  expect(lines(gateway("old", ["*/a.example.com"], 1) + gateway("new", hosts, 2), "0.0.0.0_443", client)).toEqual([
    "Gateway new spec.servers[0] is overridden by Gateway shop/old spec.servers[0]: both match connections for a.example.com to 0.0.0.0:443",
  ]);
});
