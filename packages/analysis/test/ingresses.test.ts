import { describe, expect, it } from "vitest";
import { messagesIn, object } from "./messages-in.js";

interface Entry {
  readonly hosts?: readonly string[];
  readonly secretName?: string;
}
const ingress = (name: string, day: number, tls: readonly Entry[], hosts: readonly string[] = []): string =>
  `${JSON.stringify({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      ...{ name, namespace: "shop", creationTimestamp: `2025-01-0${day}T00:00:00Z` },
      annotations: { "kubernetes.io/ingress.class": "istio" },
    },
    spec: {
      tls,
      rules: hosts.map((host) => ({
        host,
        http: {
          paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "cart", port: { number: 80 } } } }],
        },
      })),
    },
  })}\n---\n`;
const found = (text: string): readonly string[] =>
  messagesIn(text, ["MESH0060"]).map((message) => message.replace(/^MESH0060 Ingress (\S+) \d+/, "$1"));

describe("a certificate of an Ingress that is not served", () => {
  const [a, b, c] = ["a.example.com", "b.example.com", "c.example.com"];
  const old = ingress("old", 1, [{ hosts: [a, b], secretName: "old" }]);

  it("is told with the Ingress that serves its hosts", () => {
    const young = (hosts: readonly string[], secretName = "young") => ingress("young", 2, [{ hosts, secretName }]);
    expect(found(old + young([b, a]))).toEqual([
      `shop/young: certificate "young" is not served for ${b}, ${a}: Ingress shop/old, which is older, serves them with "old"`,
    ]);
    expect(found(young([a, c]) + old)).toEqual([
      `shop/young: certificate "young" is not served for ${a}: Ingress shop/old, which is older, serves them with "old"`,
    ]);
    expect(found(old + young([c]))).toEqual([]);
    expect(found(old + young([a], "old"))).toEqual([]);
  });

  it("may be one without hosts", () => {
    const any = (name: string, day: number, secretName: string, hosts: readonly string[]) =>
      ingress(name, day, [{ hosts: [], secretName }], hosts);
    expect(found(any("first", 1, "one", [a]) + any("second", 2, "two", [b]))).toEqual([
      `shop/second: certificate "two" is served for ${b} only, the hosts of the rules: its entry names none, and Ingress shop/first, which is older, serves all hosts with "one" in addition`,
    ]);
    expect(found(any("first", 1, "one", [a]) + any("second", 2, "two", []))).toEqual([
      'shop/second: certificate "two" is not served: its entry names no hosts, and Ingress shop/first, which is older, serves all hosts with "one"',
    ]);
    expect(found(any("first", 1, "one", [a]) + any("second", 2, "one", [b]))).toEqual([]);
  });

  it("may be a second one of the same Ingress, and is none of another class", () => {
    const twice = [
      { hosts: [a], secretName: "one" },
      { hosts: [a, b], secretName: "two" },
    ];
    expect(found(ingress("twice", 1, twice))).toEqual([
      `shop/twice: certificate "two" is not served for ${a}: another entry of the Ingress serves them with "one"`,
    ]);
    const other = ingress("nginx", 2, [{ hosts: [a], secretName: "two" }]).replace('"istio"', '"nginx"');
    expect(found(old + other)).toEqual([]);
  });

  it("has a host of any name", () => {
    expect(found(ingress("odd", 1, [{ hosts: ["constructor"], secretName: "one" }]))).toEqual([]);
  });
});

describe("a path of an Ingress", () => {
  const routes = (name: string, day: number, host: string, paths: readonly [string, string][]): string =>
    ingress(name, day, []).replace(
      '"rules":[]',
      `"rules":${JSON.stringify([
        {
          host,
          http: {
            paths: paths.map(([path, pathType]) => ({
              path,
              pathType,
              backend: { service: { name: "cart", port: { number: 80 } } },
            })),
          },
        },
      ])}`,
    );
  const shadowed = (text: string): readonly string[] =>
    messagesIn(text, ["MESH0013"]).map((message) => message.replace(/^MESH0013 Ingress (\S+) \d+/, "$1"));

  it("that an older one has for the same host gets no request", () => {
    const old = routes("old", 1, "a.example", [
      ["/", "Prefix"],
      ["/cart", "Exact"],
    ]);
    expect(
      shadowed(
        old +
          routes("young", 2, "a.example", [
            ["/cart", "Exact"],
            ["/cart", "Prefix"],
          ]) +
          routes("other", 3, "b.example", [["/cart", "Exact"]]),
      ),
    ).toEqual(['shop/young: path "/cart" of a.example gets no request: Ingress shop/old, which is older, has it too']);
    expect(shadowed(old)).toEqual([]);
  });
});

describe("an Ingress of the mesh's class by name", () => {
  const named = (className: string, annotations = {}): string =>
    `${JSON.stringify({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "web", namespace: "shop", annotations },
      spec: { ingressClassName: className },
    })}\n---\n`;
  const classOf = (name: string): string =>
    `${JSON.stringify({
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name },
      spec: { controller: "istio.io/ingress-controller" },
    })}\n---\n`;
  const messages = (text: string, mesh = "{}"): readonly string[] =>
    messagesIn(text, ["MESH0042"], { meshConfig: { file: "mesh.yaml", text: mesh } });

  it("is not served if the class does not exist", () => {
    expect(messages(named("istio"))).toEqual([
      "MESH0042 Ingress shop/web 1: the Ingress is not served: there is no IngressClass istio; create it with controller istio.io/ingress-controller, or set the annotation kubernetes.io/ingress.class: istio instead",
    ]);
    expect(messages(named("istio") + classOf("istio"))).toEqual([]);
    expect(messages(named("nginx"))).toEqual([]);
    expect(messages(named("istio", { "kubernetes.io/ingress.class": "istio" }))).toEqual([]);
    expect(messages(named("edge"), "ingressClass: edge")).toHaveLength(1);
    expect(messages(named("istio"), "ingressControllerMode: DEFAULT")).toEqual([]);
  });
});

describe("the default backend of an Ingress", () => {
  const withBackend = (spec: object, className = "istio"): string =>
    `${JSON.stringify({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "web", namespace: "shop", annotations: { "kubernetes.io/ingress.class": className } },
      spec: { defaultBackend: { service: { name: "cart", port: { number: 80 } } }, ...spec },
    })}\n---\n`;
  const noEffect =
    "MESH0003 Ingress shop/web: defaultBackend has no effect: gateways do not route to it, and answer other requests with status 404; add a rule without a host, whose path is /";
  const told = (text: string): readonly string[] =>
    messagesIn(text, ["MESH0003", "IST0106"]).map((message) => message.replace(/^(\S+ \S+ \S+) \d+/, "$1"));

  it("is told to have no effect, with and without rules and certificates", () => {
    const rules = [{ host: "a.example.com" }];
    expect(told(withBackend({}))).toEqual([noEffect]);
    expect(told(withBackend({ rules }))).toEqual([noEffect]);
    expect(told(withBackend({ tls: [{ secretName: "cert" }] }))).toEqual([noEffect]);
    expect(told(withBackend({ defaultBackend: { resource: { kind: "Bucket", name: "b" } } }))).toEqual([noEffect]);
  });

  it("is not told of another class, or if there is none", () => {
    expect(told(withBackend({}, "nginx"))).toEqual([]);
    expect(told(withBackend({ defaultBackend: undefined }))).toEqual([]);
  });
});

describe("a backend of an Ingress that is an ExternalName Service", () => {
  const alias = (externalName: string): string =>
    object("Service", "shop/cart", { spec: { type: "ExternalName", externalName } });
  const entry = object("ServiceEntry", "shop/api", {
    spec: { hosts: ["api.example"], resolution: "DNS", ports: [{ number: 80, name: "http", protocol: "HTTP" }] },
  });
  const real = object("Service", "shop/real", {
    spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }] },
  });
  const told = (text: string): readonly string[] =>
    messagesIn(ingress("web", 1, [], ["a.example"]) + text, ["IST0101", "MESH0041"]).map((message) =>
      message.replace(/^(\S+ \S+ \S+) \d+/, "$1"),
    );

  it("needs a host that the mesh knows", () => {
    expect(told(alias("api.example"))).toEqual([
      'IST0101 Ingress shop/web: requests to the path fail: Service shop/cart is an alias (ExternalName) of "api.example", and no Service or ServiceEntry declares it',
    ]);
    expect(told(alias("cart.shop.svc.cluster.local"))).toEqual([
      "IST0101 Ingress shop/web: requests to the path fail: Service shop/cart is an alias (ExternalName) that leads back to itself",
    ]);
    expect(told("")).toEqual([
      "IST0101 Ingress shop/web: referenced Service shop/cart not found: requests to the path fail",
    ]);
  });

  it("has the ports of a Service or ServiceEntry", () => {
    expect(told(alias("real.shop.svc.cluster.local") + real)).toEqual([]);
    expect(told(alias("api.example") + entry)).toEqual([]);
    expect(told(alias("api.example") + entry.replace('"number":80', '"number":8080'))).toEqual([
      "MESH0041 Ingress shop/web: Service shop/cart has no port 80, so that requests to the path fail: it has http 8080",
    ]);
  });
});
