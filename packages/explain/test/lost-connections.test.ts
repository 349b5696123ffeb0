import { describe, expect, test } from "vitest";
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
  why(meshOf(yaml), client, "lds", name).losses.map(({ kind, name: loser, reason }) => `${kind} ${loser} ${reason}`);

describe("at a sidecar's listener", () => {
  test("TLS routes lose an SNI that an older VirtualService has", () => {
    const tls = (name: string, created: number): string =>
      object(
        "VirtualService",
        name,
        { hosts: [at("shop", "db")], tls: [{ match: [{ port: 443, sniHosts: [at("shop", "db")] }], route: to("db") }] },
        { created },
      );
    const { losses } = why(
      meshOf(service("db", 443, "tls") + tls("old", 1) + tls("new", 2)),
      proxy(),
      "lds",
      "10.96.0.1_443",
    );
    expect(losses).toEqual([
      {
        kind: "VirtualService",
        namespace: "shop",
        name: "new",
        field: "spec.tls[0].match[0]",
        winner: { kind: "VirtualService", namespace: "shop", name: "old", field: "spec.tls[0].match[0]" },
        reason:
          "spec.tls[0].match[0] gives way to VirtualService shop/old spec.tls[0].match[0]: only the first match for SNI db.shop.svc.cluster.local at port 443 applies",
      },
    ]);
  });

  test("TCP routes lose to the first that takes every connection, in the same VirtualService too", () => {
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
      `VirtualService old spec.tcp[2] gives way to VirtualService shop/old spec.tcp[1]: its route matches every connection to ${at("shop", "db")}:5432`,
      `VirtualService new spec.tcp[1] gives way to VirtualService shop/old spec.tcp[1]: its route matches every connection to ${at("shop", "db")}:5432`,
    ]);
  });

  test("services that cannot be told apart lose to the first", () => {
    const yaml =
      entry("one", "one.example.com", 5000, "TCP") + entry("two", "two.example.com", 5000, "TCP", { created: 2 });
    expect(lines(yaml, "0.0.0.0_5000")).toEqual([
      "ServiceEntry two spec.ports[0] gives way to ServiceEntry shop/one spec.ports[0]: both match the same connections to 0.0.0.0:5000",
    ]);
  });

  test("services of HTTP share a port, and so do those of HTTP and of TLS with names", () => {
    expect(lines(service("a", 80, "http") + service("b", 80, "http", { ip: "10.96.0.2" }), "0.0.0.0_80")).toEqual([]);
    expect(
      lines(entry("web", "web.example.com", 443, "HTTP") + entry("tls", "tls.example.com", 443, "TLS"), "0.0.0.0_443"),
    ).toEqual([]);
  });

  test("MySQL shares a port with no other protocol", () => {
    const yaml =
      entry("db", "db.example.com", 3306, "MySQL") + entry("web", "web.example.com", 3306, "HTTP", { created: 2 });
    expect(lines(yaml, "0.0.0.0_3306")).toEqual([
      "ServiceEntry web spec.ports[0] gives way to ServiceEntry shop/db spec.ports[0]: HTTP cannot share 0.0.0.0:3306 with MySQL: one of them is a server-first protocol",
    ]);
  });

  test("services lose the port that a Sidecar's egress listener has for others", () => {
    const sidecar = object("Sidecar", "own", {
      egress: [
        { port: { number: 80, protocol: "HTTP", name: "http" }, hosts: ["shop/" + at("shop", "a")] },
        { hosts: ["*/*"] },
      ],
    });
    const yaml = service("a", 80, "http") + service("b", 80, "http", { ip: "10.96.0.2" }) + sidecar;
    expect(lines(yaml, "0.0.0.0_80").filter((line) => line.startsWith("Service b"))).toEqual([
      "Service b spec.ports[0] gives way to Sidecar shop/own spec.egress[0]: an egress listener of a Sidecar already uses 0.0.0.0:80",
    ]);
  });
});

describe("at a gateway's listener", () => {
  const gateway = (servers: readonly object[]): string =>
    object("Gateway", "edge", { selector: { app: "edge" }, servers: servers as never });
  const edge = proxy("router", "shop", { app: "edge" });

  test("TLS routes lose an SNI that an older VirtualService has", () => {
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
      "VirtualService new spec.tls[0].match[0] gives way to VirtualService shop/old spec.tls[0].match[0]: SNI x.example.com at port 443 is already in use",
    ]);
  });

  test("TCP routes lose the port to the first", () => {
    const tcp = (name: string, created: number): string =>
      object("VirtualService", name, { hosts: ["*"], gateways: ["edge"], tcp: [{ route: to("db") }] }, { created });
    const server = { port: { number: 5432, name: "tcp", protocol: "TCP" }, hosts: ["*"] };
    expect(
      lines(service("db", 5432, "tcp") + gateway([server]) + tcp("old", 1) + tcp("new", 2), "0.0.0.0_5432", edge),
    ).toEqual([
      "VirtualService new spec.tcp[0] gives way to VirtualService shop/old spec.tcp[0]: only the first TCP route for port 5432 of Gateway shop/edge applies",
    ]);
  });
});

describe("a host of several services", () => {
  const host = "api.example.com";
  const reasons = (yaml: string, client = proxy()): string[] =>
    why(meshOf(yaml), client, "cds", `outbound|443||${host}`).losses.map(
      ({ namespace, name, reason }) => `${namespace}/${name} ${reason}`,
    );
  const declared = (namespace: string, created = 1, more: object = {}): string =>
    entry("api", host, 443, "TLS", { namespace, created, more });

  test("is the client's namespace's, else the oldest's", () => {
    const yaml = declared("old") + declared("shop", 2);
    expect(reasons(yaml)).toEqual([
      `old/api gives way to ServiceEntry shop/api for ${host}: services of the client's own namespace come first`,
    ]);
    expect(reasons(yaml, proxy("sidecar", "web"))).toEqual([
      `shop/api gives way to ServiceEntry old/api for ${host}, which comes first by age, name and namespace`,
    ]);
  });

  test("is none that is not exported to the client", () => {
    expect(reasons(declared("old", 1, { exportTo: ["."] }) + declared("other", 2))).toEqual([
      "old/api is not exported to namespace shop",
    ]);
  });

  test("is that of the namespace from which a Sidecar imports it", () => {
    const sidecar = object("Sidecar", "own", { egress: [{ hosts: ["other/*"] }] });
    expect(reasons(declared("other", 3) + declared("shop", 1) + sidecar)).toEqual([
      `shop/api gives way to ServiceEntry other/api for ${host}: Sidecar shop/own does not import it from namespace shop`,
    ]);
  });

  test("is declared once more in its namespace only for its endpoints", () => {
    const again = object(
      "ServiceEntry",
      "again",
      { hosts: [host], ports: [{ name: "p", number: 443, protocol: "TLS" }], resolution: "DNS" },
      { created: 2 },
    );
    const [loss] = why(meshOf(declared("shop") + again), proxy(), "cds", `outbound|443||${host}`).losses;
    expect(loss).toEqual({
      kind: "ServiceEntry",
      namespace: "shop",
      name: "again",
      field: `spec.hosts (${host})`,
      winner: { kind: "ServiceEntry", namespace: "shop", name: "api" },
      reason: `declares ${host} as ServiceEntry shop/api does, in the same namespace: the oldest declaration counts, and of this one the endpoints only`,
    });
  });

  test("shows in the listeners and routes of its port too", () => {
    const yaml = declared("old") + declared("shop", 2);
    expect(why(meshOf(yaml), proxy(), "lds", "0.0.0.0_443").losses).toMatchObject([
      { kind: "ServiceEntry", namespace: "old", name: "api" },
    ]);
  });
});

test("DestinationRules lose to those of nearer namespaces, and name them", () => {
  const rule = (namespace: string): string =>
    object("DestinationRule", "db", { host: at("shop", "db") }, { namespace });
  const { losses } = why(
    meshOf(service("db", 5432, "tcp") + rule("web") + rule("shop") + rule("istio-system")),
    proxy("sidecar", "web"),
    "cds",
    `outbound|5432||${at("shop", "db")}`,
  );
  expect(
    losses.map(({ namespace, winner }) => [namespace, `${winner?.kind} ${winner?.namespace}/${winner?.name}`]),
  ).toEqual([
    ["istio-system", "DestinationRule web/db"],
    ["shop", "DestinationRule web/db"],
  ]);
});
