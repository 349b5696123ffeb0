import { generators } from "@istiod/xds-generators";
import { describe, expect, it } from "vitest";
import { istioYaml, podYaml, serviceEntry, serviceYaml } from "./mesh-yaml.js";
import { type Json, TestMesh } from "./mesh.js";

const endpointType = "envoy.config.endpoint.v3.ClusterLoadAssignment";
const jwks =
  '{"keys":[{"kty":"RSA","e":"AQAB","n":"xAE7eB6qugXyCAG3yhh7pkDkT65pHymX-P7KfIupjf59vsdo91bSP9C8H07pSAGQO1MV_xFj9VswgsCg4R6otmg5PV2He95lZdHtOcU5DXIg_pbhLdKXbi66GlVeK6ABZOUW3WYtnNHD-91gVuoeJT_DwtGGcp4ignkgXfkiEm4sw-4sfb4qdt5oLbyVpmW6x9cfa7vs2WTfURiCrBoUqgBo_-4WTiULmmHSGZHOjzwa8WtrtOQGsAFjIbno85jp6MnGGGZPYZbDAa_b3y5u-YpW7ypZrvD8BgtKVjgtQgZhLAGezMt0ua3DRrWnKqTZ0BJ_EyxOGuHJrLsn00fnMQ"}]}';
const cart = "cart.shop.svc.cluster.local";
const proxies = {
  "web.shop": { labels: { app: "web" }, ip: "10.1.0.1" },
  "pay.shop": { labels: { app: "pay" }, ip: "10.1.0.2" },
  "web.bank": { labels: { app: "web" }, ip: "10.1.0.3", namespace: "bank" },
  "gw.bank": { labels: { app: "gw" }, ip: "10.1.0.4", namespace: "bank", type: "router" },
} as const;
const mesh =
  serviceYaml("cart") +
  podYaml("cart", "10.1.0.9") +
  Object.entries(proxies)
    .filter(([name]) => name !== "gw.bank")
    .map(([name, { ip }]) => {
      const [service = "", namespace = ""] = name.split(".");
      return serviceYaml(service, { namespace, ip: ip.replace("10.1", "10.96") }) + podYaml(service, ip, { namespace });
    })
    .join("");

/** Returns everything that each proxy is served. */
const everything = (yaml: string): Record<string, readonly unknown[]> =>
  Object.fromEntries(
    Object.entries(proxies).map(([name, options]) => {
      const proxy = new TestMesh(mesh + yaml).proxy(options);
      const types = Object.keys(generators).map((type) => type.replace("type.googleapis.com/", ""));
      return [
        name,
        types.flatMap((type) => [...proxy.set(type)].map(({ name: of, bytes }) => [of, Buffer.from(bytes).toString()])),
      ];
    }),
  );
const without = everything("");

/** Returns the proxies whose resources an object changes. */
function affected(yaml: string): readonly string[] {
  const found = everything(yaml);
  return Object.keys(proxies).filter((name) => JSON.stringify(found[name]) !== JSON.stringify(without[name]));
}

/** Returns the addresses of the endpoints of a cluster, as the sidecar `web.shop` has them. */
function endpoints(yaml: string, cluster: string): readonly string[] {
  const { endpoints: localities = [] } = new TestMesh(mesh + yaml)
    .proxy(proxies["web.shop"])
    .json(endpointType, cluster);
  return localities.flatMap(({ lbEndpoints = [] }: Json) =>
    lbEndpoints.map(({ endpoint }: Json) => endpoint.address.socketAddress.address as string),
  );
}

const inGroup = (group: string, yaml: string): string => yaml.replace("networking.", `${group}.`);
const inShop = ["web.shop", "pay.shop"];

describe.each<[kind: string, yaml: (selector: object) => string, absent: readonly string[], empty: readonly string[]]>([
  [
    "AuthorizationPolicy",
    (selector) =>
      inGroup("security", istioYaml("AuthorizationPolicy", "a", { action: "DENY", rules: [{}], ...selector })),
    inShop,
    inShop,
  ],
  [
    "RequestAuthentication",
    (selector) =>
      inGroup("security", istioYaml("RequestAuthentication", "a", { jwtRules: [{ issuer: "a", jwks }], ...selector })),
    inShop,
    inShop,
  ],
  [
    "PeerAuthentication",
    (selector) => inGroup("security", istioYaml("PeerAuthentication", "a", { mtls: { mode: "STRICT" }, ...selector })),
    inShop,
    inShop,
  ],
  [
    "Telemetry",
    (selector) =>
      inGroup(
        "telemetry",
        istioYaml("Telemetry", "a", { accessLogging: [{ providers: [{ name: "envoy" }] }], ...selector }),
      ),
    inShop,
    inShop,
  ],
  [
    "Sidecar",
    (selector) => istioYaml("Sidecar", "a", { egress: [{ hosts: ["istio-system/*"] }], ...workload(selector) }),
    inShop,
    inShop,
  ],
  [
    "DestinationRule",
    (selector) => {
      const trafficPolicy = { connectionPool: { tcp: { maxConnections: 7 } } };
      return istioYaml("DestinationRule", "a", { host: cart, trafficPolicy, ...rename(selector, "workloadSelector") });
    },
    Object.keys(proxies),
    // A rule with a selector is of its own namespace only.
    inShop,
  ],
  [
    "Gateway",
    (selector) =>
      istioYaml("Gateway", "a", {
        servers: [{ port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["a.example.com"] }],
        ...("selector" in selector ? { selector: {} } : {}),
      }),
    ["gw.bank"],
    ["gw.bank"],
  ],
])("a %s", (_, yaml, absent, empty) => {
  it("without a selector, and with an empty one, applies as its kind says", () => {
    expect(affected(yaml({}))).toEqual(absent);
    expect(affected(yaml({ selector: {} }))).toEqual(empty);
    expect(affected(yaml({ selector: { matchLabels: {} } }))).toEqual(empty);
  });
});

function rename(selector: object, name: string): object {
  return "selector" in selector ? { [name]: selector.selector } : {};
}

/** A selector of the type WorkloadSelector, with `labels`. */
function workload(selector: { selector?: { matchLabels?: object } }): object {
  const { selector: found } = selector;
  return found === undefined ? {} : { workloadSelector: found.matchLabels ? { labels: found.matchLabels } : {} };
}

describe("a source of endpoints", () => {
  const ports = [{ number: 80, name: "http", protocol: "HTTP" }];
  const entry = (more: object): string =>
    serviceEntry("e", { hosts: ["e.example.com"], ports, resolution: "STATIC", ...more });

  it("ServiceEntry with an empty workloadSelector has none", () => {
    for (const workloadSelector of [{}, { labels: {} }])
      expect(endpoints(entry({ workloadSelector }), "outbound|80||e.example.com")).toEqual([]);
    const selecting = entry({ workloadSelector: { labels: { app: "cart" } } });
    expect(endpoints(selecting, "outbound|80||e.example.com")).toEqual(["10.1.0.9"]);
  });

  it("Service with an empty selector has those of its own slices, and no WorkloadEntry", () => {
    const machine = istioYaml("WorkloadEntry", "vm", { address: "10.9.0.1", labels: { app: "cart" } });
    const own = (selector: object) => serviceYaml("own", { ip: "10.96.0.20", spec: { selector } }) + machine;
    expect(endpoints(own({}), "outbound|80||own.shop.svc.cluster.local")).toEqual([]);
    expect(endpoints(own({ app: "cart" }), "outbound|80||own.shop.svc.cluster.local")).toEqual(["10.9.0.1"]);
  });
});
