import { describe, expect, test } from "vitest";
import { decode, productBounds, readProductBounds } from "../src/index.js";

const list = <T>(count: number, item: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));

function problems(kind: string, spec: unknown, bounds = readProductBounds({})): readonly string[] {
  const group = { PeerAuthentication: "security", Telemetry: "telemetry" }[kind] ?? "networking";
  const document = {
    apiVersion: kind.endsWith("Route")
      ? "gateway.networking.k8s.io/v1"
      : `${group}.istio.io/${kind === "EnvoyFilter" ? "v1alpha3" : "v1"}`,
    kind,
    metadata: { name: "big", namespace: "shop" },
    spec,
  };
  return decode(document, { bounds }).flatMap(({ outcome, issues }) =>
    issues
      .filter(({ severity }) => severity === "error")
      .map(({ path, message }) => `${outcome} ${path.join(".")} ${message}`),
  );
}

const route = (i: number): object => ({
  match: [{ uri: { exact: `/${i}` } }],
  route: [{ destination: { host: "cart" } }],
});
const virtualService = (hosts: number, routes: number): object => ({
  hosts: list(hosts, (i) => `h${i}.example.com`),
  http: list(routes, route),
});
const subsets = (count: number, trafficPolicy?: object): object => ({
  host: "cart",
  ...(trafficPolicy && { trafficPolicy }),
  subsets: list(count, (i) => ({ name: `s${i}`, labels: { version: `v${i}` } })),
});
const entry = (hosts: number, ports: number, more: object = {}): object => ({
  hosts: list(hosts, (i) => `h${i}.example.com`),
  ports: list(ports, (i) => ({ number: i + 1, name: `http-${i}`, protocol: "HTTP" })),
  resolution: "STATIC",
  ...more,
});
const modes = (ports: number): object => ({
  selector: { matchLabels: { app: "cart" } },
  portLevelMtls: Object.fromEntries(list(ports, (i) => [i + 1, { mode: "STRICT" }])),
});
const tracing = (tags: number): object => ({
  tracing: [{ customTags: Object.fromEntries(list(tags, (i) => [`t${i}`, { literal: { value: "x".repeat(80) } }])) }],
});
const overrides = (tags: number, metric?: string): object => ({
  metrics: [
    {
      overrides: [
        {
          ...(metric !== undefined && { match: { metric } }),
          tagOverrides: Object.fromEntries(list(tags, (i) => [`t${i}`, { value: `'${"x".repeat(80)}'` }])),
        },
      ],
    },
  ],
});
const httpRoute = (hostnames: number, rules: number, rule: (index: number) => object = () => ({})): object => ({
  parentRefs: [{ name: "edge" }],
  hostnames: list(hostnames, (i) => `h${i}.example.com`),
  rules: list(rules, (i) => ({ ...rule(i), backendRefs: [{ name: "cart", port: 80 }] })),
});
const setsHeader = (bytes: number): object => ({
  filters: [
    { type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "a", value: "x".repeat(bytes) }] } },
  ],
  matches: list(100, (i) => ({ path: { value: `/${i}` } })),
});
const patches = (count: number, bytes: number, match?: object): object => ({
  configPatches: list(count, () => ({
    applyTo: "CLUSTER",
    ...(match && { match }),
    patch: { operation: "MERGE", value: { alt_stat_name: "x".repeat(bytes) } },
  })),
});
const sans = list(1000, (i) => `spiffe://cluster.local/ns/shop/sa/${"x".repeat(100)}-${i}`);

/** Each product just within its bound, and just over it, with the numbers that the message must have. */
const products: readonly [string, string, object, object, string][] = [
  ["hosts × routes", "VirtualService", virtualService(100, 500), virtualService(100, 501), "spec.http"],
  [
    "hosts × matches",
    "VirtualService",
    { ...virtualService(500, 0), http: [{ ...route(0), match: list(100, (i) => ({ uri: { exact: `/${i}` } })) }] },
    { ...virtualService(500, 0), http: [{ ...route(0), match: list(101, (i) => ({ uri: { exact: `/${i}` } })) }] },
    "spec.http",
  ],
  [
    "hosts × bytes of routes",
    "VirtualService",
    { ...virtualService(100, 0), http: [{ ...route(0), headers: { request: { set: { a: "x".repeat(16_000) } } } }] },
    {
      ...virtualService(1000, 0),
      http: [
        {
          ...route(0),
          headers: { request: { set: Object.fromEntries(list(5, (i) => [`h${i}`, "x".repeat(16_000)])) } },
        },
      ],
    },
    "spec.http",
  ],
  [
    "matches × bytes of a route",
    "VirtualService",
    { ...virtualService(1, 0), http: [{ ...route(0), match: list(100, (i) => ({ uri: { exact: `/${i}` } })) }] },
    {
      ...virtualService(10, 0),
      http: [
        {
          ...route(0),
          match: list(1000, (i) => ({ uri: { exact: `/${i}` } })),
          headers: { response: { add: { a: "x".repeat(8000) } } },
        },
      ],
    },
    "spec.http",
  ],
  [
    "hosts × tcp matches",
    "VirtualService",
    {
      hosts: list(100, (i) => `h${i}.example.com`),
      tcp: [{ match: list(100, (i) => ({ port: i + 1 })), route: [{ destination: { host: "cart" } }] }],
    },
    {
      hosts: list(100, (i) => `h${i}.example.com`),
      tcp: [{ match: list(101, (i) => ({ port: i + 1 })), route: [{ destination: { host: "cart" } }] }],
    },
    "spec",
  ],
  ["subsets", "DestinationRule", subsets(4999), subsets(5000), "spec.subsets"],
  [
    "subsets × policy",
    "DestinationRule",
    subsets(100, { tls: { mode: "SIMPLE", subjectAltNames: sans } }),
    subsets(1000, { tls: { mode: "SIMPLE", subjectAltNames: sans } }),
    "spec.subsets",
  ],
  ["hosts × ports", "ServiceEntry", entry(250, 20), entry(250, 21), "spec.ports"],
  [
    "hosts × ports × endpoints",
    "ServiceEntry",
    entry(100, 25, { endpoints: list(100, (i) => ({ address: `10.0.0.${i}` })) }),
    entry(100, 25, { endpoints: list(101, (i) => ({ address: `10.0.0.${i}` })) }),
    "spec.endpoints",
  ],
  [
    "hosts × ports × addresses",
    "ServiceEntry",
    entry(100, 2, { addresses: list(100, (i) => `10.0.0.${i}`) }),
    entry(100, 2, { addresses: list(101, (i) => `10.0.0.${i}`) }),
    "spec.addresses",
  ],
  [
    "hosts × ports × addresses × endpoints",
    "ServiceEntry",
    entry(10, 10, {
      addresses: list(25, (i) => `10.1.0.${i}`),
      endpoints: list(100, (i) => ({ address: `10.0.0.${i}` })),
    }),
    entry(10, 10, {
      addresses: list(25, (i) => `10.1.0.${i}`),
      endpoints: list(101, (i) => ({ address: `10.0.0.${i}` })),
    }),
    "spec.endpoints",
  ],
  ["ports with modes", "PeerAuthentication", modes(1000), modes(1001), "spec.portLevelMtls"],
  ["custom tags", "Telemetry", tracing(2000), tracing(3000), "spec"],
  ["overrides of one metric", "Telemetry", overrides(2000, "REQUEST_COUNT"), overrides(3000, "REQUEST_COUNT"), "spec"],
  ["metrics × overrides", "Telemetry", overrides(200, "ALL_METRICS"), overrides(300, "ALL_METRICS"), "spec"],
  ["metrics × overrides without a match", "Telemetry", overrides(200), overrides(300), "spec"],
  [
    "hosts × ports × subjectAltNames",
    "ServiceEntry",
    entry(10, 10, { subjectAltNames: sans }),
    entry(100, 10, { subjectAltNames: sans }),
    "spec.subjectAltNames",
  ],
  ["values of patches", "EnvoyFilter", patches(2, 100_000), patches(3, 100_000), "spec.configPatches"],
  ["hostnames × rules", "HTTPRoute", httpRoute(100, 500), httpRoute(100, 501), "spec.rules"],
  ["hostnames × rules", "GRPCRoute", httpRoute(100, 500), httpRoute(100, 501), "spec.rules"],
  [
    "hostnames × bytes of rules × matches",
    "HTTPRoute",
    httpRoute(10, 4, () => setsHeader(16_000)),
    httpRoute(10, 5, () => setsHeader(16_000)),
    "spec.rules",
  ],
];

const longPatterns = (count: number): readonly object[] => list(count, (i) => ({ value: `/(a{1,500}){1,2}${i}` }));
const uris = (patterns: readonly { readonly value?: string }[]): readonly object[] =>
  patterns.map(({ value }) => ({ uri: { regex: value } }));

describe("regular expressions of routes", () => {
  const small = readProductBounds({ [productBounds.instructions.variable]: "100000" });
  const refused = (field: string, hosts: number): RegExp =>
    new RegExp(
      `^rejected ${field} has regular expressions of at least \\d+ instructions × ${hosts} hosts, expected at most 100000 in all \\(raise ISTIOD_MAX_PATTERN_INSTRUCTIONS_OF_ROUTES\\)$`,
    );
  const matching = (count: number, hosts = 1): object => ({
    ...virtualService(hosts, 0),
    http: [{ ...route(0), match: uris(longPatterns(count)) }],
  });
  const ofRewrite = (matches: number): object => ({
    ...virtualService(1, 0),
    http: [
      {
        ...route(0),
        match: list(matches, (i) => ({ uri: { prefix: `/${i}` } })),
        rewrite: { uriRegexRewrite: { match: "(a{1,500}){1,2}", rewrite: "b" } },
      },
    ],
  });

  test("are accepted within the bound, and rejected over it, in all matches and for all hosts", () => {
    expect(problems("VirtualService", matching(10), small)).toEqual([]);
    expect(problems("VirtualService", matching(100), small)).toEqual([expect.stringMatching(refused("spec.http", 1))]);
    expect(problems("VirtualService", matching(10, 10), small)).toEqual([
      expect.stringMatching(refused("spec.http", 10)),
    ]);
    expect(problems("VirtualService", ofRewrite(10), small)).toEqual([]);
    expect(problems("VirtualService", ofRewrite(100), small)).toEqual([expect.stringMatching(refused("spec.http", 1))]);
  });

  test("are bounded in routes of the Gateway API", () => {
    const paths = (count: number): object =>
      httpRoute(1, 1, () => ({
        matches: longPatterns(count).map((path) => ({ path: { type: "RegularExpression", ...path } })),
      }));
    expect(problems("HTTPRoute", paths(10), small)).toEqual([]);
    expect(problems("HTTPRoute", paths(100), small)).toEqual([expect.stringMatching(refused("spec.rules", 1))]);
    const origins = (matches: number): object =>
      httpRoute(1, 1, () => ({
        filters: [{ type: "CORS", cors: { allowOrigins: list(50, (i) => `https://*.a${i}.*.example.com`) } }],
        matches: list(matches, (i) => ({ path: { value: `/${i}` } })),
      }));
    expect(problems("HTTPRoute", origins(2), small)).toEqual([]);
    expect(problems("HTTPRoute", origins(20), small)).toEqual([expect.stringMatching(refused("spec.rules", 1))]);
  });

  test("count little if they are simple", () => {
    const simple = {
      ...virtualService(1, 0),
      http: [{ ...route(0), match: list(2000, (i) => ({ uri: { regex: `/v1/${i}/.*` } })) }],
    };
    expect(problems("VirtualService", simple, small)).toEqual([]);
  });
});

/** Comparing each with all others took a minute. */
describe("lists of tens of thousands", () => {
  test("of hosts are read in time", () => {
    const hosts = list(49_998, (i) => `h${i}.example.com`);
    const spec = { hosts: [...hosts, "*.example.org", "h7.example.com"], http: [route(0)] };
    expect(problems("VirtualService", spec)).toEqual([
      'rejected spec.hosts.49999 is "h7.example.com", which overlaps "h7.example.com"',
    ]);
  });

  test("of localities are read in time", () => {
    const distribute = list(40_000, (i) => ({ from: `r/${i}/*`, to: { "r/1/*": 100 } }));
    const spec = {
      host: "cart",
      trafficPolicy: {
        loadBalancer: { localityLbSetting: { distribute: [...distribute, { from: "r/9/a", to: { r: 100 } }] } },
      },
    };
    expect(problems("DestinationRule", spec)).toEqual([
      'rejected spec.trafficPolicy.loadBalancer.localityLbSetting.distribute.40000.from is "r/9/a", which overlaps "r/9/*"',
    ]);
  });
});

describe("products of an object's lists", () => {
  test.each(products)("%s are accepted within the bound", (_, kind, within) => {
    expect(problems(kind, within)).toEqual([]);
  });

  test.each(products)("%s are rejected over it, with the numbers and the variable", (_, kind, __, over, field) => {
    const found = problems(kind, over);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(
      new RegExp(
        `^rejected ${field} multiplies to \\d+ .* = \\d+ .*, expected at most \\d+ \\(raise ISTIOD_MAX_[A-Z_]+\\)$`,
      ),
    );
  });

  test("do not count what patches add to named resources", () => {
    const named = { cluster: { service: "cart.shop.svc.cluster.local" } };
    expect(problems("EnvoyFilter", patches(10, 100_000, named))).toEqual([]);
  });

  test("are told with all factors", () => {
    expect(problems("VirtualService", virtualService(1000, 1000))).toEqual([
      "rejected spec.http multiplies to 1000 hosts × 1000 matches of http routes = 1000000 routes in proxies, expected at most 50000 (raise ISTIOD_MAX_ROUTES_OF_VIRTUAL_SERVICE)",
    ]);
  });

  test("are accepted over the default if the variable raises it, and an invalid value counts as absent", () => {
    const { variable } = productBounds.routes;
    const raised = readProductBounds({ [variable]: "1000000" });
    expect(problems("VirtualService", virtualService(1000, 1000), raised)).toEqual([]);
    expect(readProductBounds({ [variable]: "-1" }).routes).toBe(productBounds.routes.default);
  });
});

describe("services that the egress listeners of a Sidecar import", () => {
  const sidecar = (listeners: number, hosts: readonly string[]): object => ({
    egress: [
      ...list(listeners, (i) => ({ port: { number: 1000 + i, name: `http-${i}`, protocol: "HTTP" }, hosts })),
      { hosts },
    ],
  });

  test("are bounded by the wildcard hosts of listeners with a port", () => {
    expect(problems("Sidecar", sidecar(250, ["*/*"]))).toEqual([]);
    expect(
      problems(
        "Sidecar",
        sidecar(
          1,
          list(300, (i) => `ns-${i}/*`),
        ),
      ),
    ).toEqual([]);
    expect(problems("Sidecar", sidecar(300, ["shop/cart.example.com"]))).toEqual([]);
    expect(problems("Sidecar", sidecar(251, ["./*"]))).toEqual([
      "rejected spec.egress has 251 wildcard hosts in 251 listeners with a port, each of which imports all services of a namespace or of the mesh, expected at most 250 (raise ISTIOD_MAX_WILDCARD_HOSTS_OF_SIDECAR)",
    ]);
    expect(
      problems(
        "Sidecar",
        sidecar(
          26,
          list(10, (i) => `ns-${i}/*`),
        ),
      )[0],
    ).toContain("260 wildcard hosts");
  });

  test("may be more if the variable raises the bound", () => {
    const raised = readProductBounds({ [productBounds.imports.variable]: "1000" });
    expect(problems("Sidecar", sidecar(1000, ["*/*"]), raised)).toEqual([]);
  });
});
