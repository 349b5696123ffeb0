import { describe, expect, it } from "vitest";
import { describeMistakes, type Mistake } from "./found-mistakes.js";
import { analyzeTexts } from "@istiod/analysis";
import { analyzeAdded } from "./messages-of.js";
import { documentOf, type Fields, objectWriter } from "./mistake-objects.js";

const gatewayApi = "gateway.networking.k8s.io/v1";
const o = objectWriter({
  Service: "v1",
  PeerAuthentication: "security.istio.io/v1",
  RequestAuthentication: "security.istio.io/v1",
  Telemetry: "telemetry.istio.io/v1",
  HTTPRoute: gatewayApi,
  GRPCRoute: gatewayApi,
  Gateway: gatewayApi,
  ListenerSet: gatewayApi,
});

const namespace = (name: string): string =>
  documentOf({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { "istio-injection": "enabled" } },
  });

const deployment = (app: string): string =>
  documentOf({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: app, namespace: "shop" },
    spec: {
      selector: { matchLabels: { app } },
      template: {
        metadata: { labels: { app } },
        spec: {
          containers: [{ name: "app", image: "app", ports: [{ name: "web", containerPort: 8080 }] }],
        },
      },
    },
  });

/** A mesh without a fault, whose Service has other ports than its workloads. */
const mesh = [
  namespace("shop"),
  namespace("clients"),
  o(
    "Service",
    {
      selector: { app: "cart" },
      ports: [
        { name: "http", port: 80, targetPort: "web" },
        { name: "http-admin", port: 81, targetPort: 9000 },
      ],
    },
    { name: "cart" },
  ),
  deployment("cart"),
  ...["front", "other"].map((name) =>
    o(
      "Gateway",
      {
        gatewayClassName: "istio",
        allowedListeners: { namespaces: { from: "Same" } },
        listeners: [
          { name: "http", port: 80, protocol: "HTTP" },
          { name: "alternative", port: 8080, protocol: "HTTP" },
        ],
      },
      { name },
    ),
  ),
  ...["one", "two"].map((name, i) =>
    o(
      "ListenerSet",
      { parentRef: { name: "front" }, listeners: [{ name: "http", port: 8000 + i, protocol: "HTTP" }] },
      { name },
    ),
  ),
].join("");

const portModes = (mode: string, portLevelMtls: Fields): string =>
  o("PeerAuthentication", { selector: { matchLabels: { app: "cart" } }, mtls: { mode }, portLevelMtls });
const rule = (trafficPolicy: Fields): string => o("DestinationRule", { host: "cart", trafficPolicy });
const tls = (mode: string): Fields => ({ tls: { mode } });
const ofPort = (number: number, mode: string): Fields => ({ port: { number }, ...tls(mode) });

const strict = o("PeerAuthentication", { mtls: { mode: "STRICT" } });
/** The ConfigMap of an injector. */
const injector = (proxy: Fields): string =>
  documentOf({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio-sidecar-injector", namespace: "istio-system" },
    data: { values: JSON.stringify({ global: { proxy } }) },
  });

/** A rule for one path, or all requests. */
const ruleFor = (path: string | undefined, more: Fields = {}): Fields => ({
  ...(path !== undefined && { matches: [{ path: { type: "PathPrefix", value: path } }] }),
  backendRefs: [{ name: "cart", port: 80 }],
  ...more,
});
/** A match of one path, and more. */
const matchOf = (path: string, more: Fields = {}): Fields => ({ path: { type: "PathPrefix", value: path }, ...more });
const withMatch = (match: Fields, more: Fields = {}): Fields => ({ ...ruleFor(undefined, more), matches: [match] });
const routeOf =
  (kind: "HTTPRoute" | "GRPCRoute") =>
  (name: string, rules: readonly Fields[], spec: Fields = {}, metadata: Fields = {}): string =>
    o(
      kind,
      { parentRefs: [{ name: "front" }], hostnames: ["a.example"], rules, ...spec },
      { name, creationTimestamp: `2024-01-01T00:00:0${name === "old" ? 0 : 1}Z`, ...metadata },
    );
const httpRoute = routeOf("HTTPRoute");
const grpcRoute = routeOf("GRPCRoute");
const atListener = (sectionName: string, name = "front", more: Fields = {}): Fields => ({
  parentRefs: [{ name, sectionName, ...more }],
});
const inListenerSet = (name: string): Fields =>
  atListener("http", name, { kind: "ListenerSet", group: "gateway.networking.k8s.io" });
const toCart = (port: number): Fields => ({
  parentRefs: [{ group: "", kind: "Service", name: "cart", port }],
  hostnames: [],
});
const claims = (outputClaimToHeaders: readonly Fields[]): string =>
  o("RequestAuthentication", {
    selector: { matchLabels: { app: "cart" } },
    jwtRules: [
      {
        issuer: "https://issuer.example",
        jwksUri: "https://issuer.example/keys",
        outputClaimToHeaders,
      },
    ],
  });
const overridden = (...overrides: Fields[]): string =>
  o("Telemetry", { metrics: [{ providers: [{ name: "prometheus" }], overrides }] });
const ofMetric = (metric: string, more: Fields): Fields => ({ match: { metric }, ...more });

const mistakes: Readonly<Record<string, Mistake>> = {
  "plaintext to a port of workloads that requires mutual TLS, at the port of their Service": [
    portModes("PERMISSIVE", { 8080: { mode: "STRICT" } }) + rule({ portLevelSettings: [ofPort(80, "DISABLE")] }),
    "MESH0017",
    '"tls": {',
    "tls mode DISABLE conflicts with PeerAuthentication, which is STRICT for port 8080 of Deployment shop/cart: connections to port 80 of cart.shop.svc.cluster.local are rejected",
  ],
  "mutual TLS to all ports, of which one has it disabled": [
    portModes("STRICT", { 9000: { mode: "DISABLE" } }) + rule(tls("ISTIO_MUTUAL")),
    "MESH0017",
    '"tls": {',
    "which is DISABLE for port 9000 of Deployment shop/cart: connections to port 81 of cart.shop.svc.cluster.local are rejected; set tls mode DISABLE",
  ],
  "plaintext to ports of which the injector's values leave out one": [
    injector({ includeInboundPorts: "*", excludeInboundPorts: "9000" }) + strict + rule(tls("DISABLE")),
    "MESH0017",
    '"tls": {',
    "tls mode DISABLE conflicts with PeerAuthentication, which is STRICT for Deployment shop/cart",
  ],
  "a route with the host and the match of an older one": [
    httpRoute("old", [ruleFor("/")]) + httpRoute("canary", [ruleFor("/")]),
    "MESH0065",
    "{",
    "is never reached: HTTPRoute shop/old, which is older or first by its name, has the same matches for the same hosts",
  ],
  "a rule without a match, as that of an older route": [
    httpRoute("old", [ruleFor(undefined)]) + httpRoute("canary", [ruleFor("/x"), ruleFor("/")]),
    "MESH0065",
    "{",
    "is never reached: HTTPRoute shop/old, which is older or first by its name, has the same matches",
  ],
  "a route of the mesh with the match of an older one": [
    httpRoute("old", [ruleFor("/a")], toCart(80)) + httpRoute("canary", [ruleFor("/a")], toCart(80)),
    "MESH0065",
    "{",
    "is never reached: HTTPRoute shop/old, which is older or first by its name, has the same matches",
  ],
  "a route with the host and the match of an older one, at a listener of a ListenerSet": [
    httpRoute("old", [ruleFor("/")], inListenerSet("one")) + httpRoute("canary", [ruleFor("/")], inListenerSet("one")),
    "MESH0065",
    "{",
    "is never reached: HTTPRoute shop/old, which is older or first by its name, has the same matches",
  ],
  "a gRPC route with the host and the match of an older one": [
    grpcRoute("old", [withMatch({ method: { service: "a.B" } })]) +
      grpcRoute("canary", [withMatch({ method: { service: "a.B" } })]),
    "MESH0065",
    "{",
    "is never reached: GRPCRoute shop/old, which is older or first by its name, has the same matches",
  ],
  "a rule whose matches two older routes have": [
    httpRoute("old", [ruleFor("/")]) +
      httpRoute("b", [ruleFor("/b")]) +
      httpRoute("canary", [{ ...ruleFor(undefined), matches: [matchOf("/"), matchOf("/b")] }]),
    "MESH0065",
    "{",
    "is never reached: HTTPRoutes shop/old, shop/b, which are older or first by their names, have the same matches",
  ],
  "a claim that is written to a header twice": [
    claims([
      { header: "x-user", claim: "sub" },
      { header: "x-group", claim: "group" },
      { header: "X-User", claim: "sub" },
    ]),
    "MESH0042",
    '"header": "X-User",',
    "to which outputClaimToHeaders[0] writes the claim, too, so that the header has the value twice",
  ],
  "a metric that is disabled and enabled": [
    overridden(ofMetric("REQUEST_COUNT", { disabled: true }), ofMetric("REQUEST_COUNT", { disabled: false })),
    "MESH0042",
    '"disabled": true',
    "has no effect: overrides[1] sets another value for the same metrics, and the last one applies",
  ],
  "a metric that is kept before all are disabled": [
    overridden(ofMetric("REQUEST_COUNT", { disabled: false }), ofMetric("ALL_METRICS", { disabled: true })),
    "MESH0042",
    '"disabled": false',
    "has no effect: overrides[1] sets another value for the same metrics",
  ],
  "a metric that is kept after all are disabled": [
    overridden(ofMetric("ALL_METRICS", { disabled: true }), ofMetric("REQUEST_COUNT", { disabled: false })),
    "MESH0042",
    '"disabled": true',
    "has no effect: overrides[1] follows, which enables all metrics again, whichever it is for",
  ],
  "a tag that is set and removed": [
    overridden(
      { tagOverrides: { version: { value: "'v1'" } } },
      ofMetric("ALL_METRICS", { tagOverrides: { version: { operation: "REMOVE" } } }),
    ),
    "MESH0042",
    '"version": {',
    "has no effect: overrides[1] sets another value",
  ],
  "a tag of a metric of clients that all metrics are without": [
    overridden(
      { match: { metric: "REQUEST_COUNT", mode: "CLIENT" }, tagOverrides: { version: { value: "'v1'" } } },
      ofMetric("ALL_METRICS", { tagOverrides: { version: { operation: "REMOVE" } } }),
    ),
    "MESH0042",
    '"version": {',
    "has no effect: overrides[1] sets another value",
  ],
};

describeMistakes(mesh, mistakes);

describe("nothing is said of what is right next to them", () => {
  it.each<readonly [string, string]>([
    [
      "plaintext to a port that accepts it",
      portModes("STRICT", { 8080: { mode: "PERMISSIVE" } }) + rule({ portLevelSettings: [ofPort(80, "DISABLE")] }),
    ],
    [
      "mutual TLS to all ports but the one that has it disabled",
      portModes("STRICT", { 9000: { mode: "DISABLE" } }) +
        rule({ ...tls("ISTIO_MUTUAL"), portLevelSettings: [ofPort(81, "DISABLE")] }),
    ],
    [
      "plaintext to a port that accepts it, and mutual TLS to the others",
      portModes("STRICT", { 9000: { mode: "PERMISSIVE" } }) +
        rule({ ...tls("DISABLE"), portLevelSettings: [ofPort(80, "ISTIO_MUTUAL")] }),
    ],
    [
      "plaintext to ports that no proxy intercepts, by the values of its injector",
      injector({ excludeInboundPorts: "8080,9000" }) + strict + rule(tls("DISABLE")),
    ],
    [
      "plaintext to ports that are not among those that proxies intercept, by the values of the injector",
      injector({ includeInboundPorts: "7000" }) + strict + rule(tls("DISABLE")),
    ],
    ["a route with a match of its own", httpRoute("old", [ruleFor("/")]) + httpRoute("canary", [ruleFor("/x")])],
    [
      "a route with another host",
      httpRoute("old", [ruleFor("/")]) + httpRoute("canary", [ruleFor("/")], { hostnames: ["b.example"] }),
    ],
    [
      "a route with the host of an older one and another",
      httpRoute("old", [ruleFor("/")]) + httpRoute("canary", [ruleFor("/")], { hostnames: ["a.example", "b.example"] }),
    ],
    [
      "a rule with a match of its own in addition to that of an older route",
      httpRoute("old", [ruleFor("/")]) +
        httpRoute("canary", [
          { ...ruleFor("/"), matches: ["/", "/x"].map((value) => ({ path: { type: "PathPrefix", value } })) },
        ]),
    ],
    [
      "a route at another Gateway",
      httpRoute("old", [ruleFor("/")]) +
        httpRoute("canary", [ruleFor("/")], { parentRefs: [{ name: "front" }, { name: "other" }] }),
    ],
    [
      "a route at another listener",
      httpRoute("old", [ruleFor("/")], atListener("http")) +
        httpRoute("canary", [ruleFor("/")], atListener("alternative")),
    ],
    [
      "a route at all listeners, of which an older route is at one",
      httpRoute("old", [ruleFor("/")], atListener("http")) + httpRoute("canary", [ruleFor("/")]),
    ],
    [
      "routes at different ListenerSets of a Gateway",
      httpRoute("old", [ruleFor("/")], inListenerSet("one")) +
        httpRoute("canary", [ruleFor("/")], inListenerSet("two")),
    ],
    [
      "routes at different ports of a Service",
      httpRoute("old", [ruleFor("/")], toCart(80)) + httpRoute("canary", [ruleFor("/")], toCart(81)),
    ],
    [
      "routes of a Service for clients of different namespaces",
      httpRoute("old", [ruleFor("/")], toCart(80)) +
        httpRoute(
          "canary",
          [
            {
              ...ruleFor("/"),
              backendRefs: [],
              filters: [{ type: "RequestRedirect", requestRedirect: { hostname: "b" } }],
            },
          ],
          { parentRefs: [{ group: "", kind: "Service", name: "cart", namespace: "shop", port: 80 }], hostnames: [] },
          { namespace: "clients" },
        ),
    ],
    ...[
      { headers: [{ name: "x-canary", value: "1" }] },
      { method: "GET" },
      { queryParams: [{ name: "canary", value: "1" }] },
      { path: { type: "Exact", value: "/" } },
    ].map((more): readonly [string, string] => [
      `a route of which an older one lacks ${JSON.stringify(more)}`,
      httpRoute("old", [ruleFor("/")]) + httpRoute("canary", [withMatch(matchOf("/", more))]),
    ]),
    [
      "a match of a gRPC method and one of its path",
      grpcRoute("old", [withMatch({ method: { service: "a.B", method: "C" } })]) +
        httpRoute("canary", [withMatch({ path: { type: "Exact", value: "/a.B/C" } })]),
    ],
    [
      "one route with weights, at the same listener by two references",
      httpRoute(
        "old",
        [
          ruleFor("/", {
            backendRefs: [80, 81].map((port) => ({ name: "cart", port, weight: 50 })),
          }),
        ],
        { parentRefs: [{ name: "front" }, { name: "front", sectionName: "http" }] },
      ),
    ],
    [
      "the same claim in two headers",
      claims([
        { header: "x-user", claim: "sub" },
        { header: "x-subject", claim: "sub" },
      ]),
    ],
    [
      "a metric that is disabled in two places",
      overridden(ofMetric("REQUEST_COUNT", { disabled: true }), ofMetric("REQUEST_COUNT", { disabled: true })),
    ],
    [
      "all metrics of clients disabled, and one of those of servers",
      overridden(
        { match: { metric: "ALL_METRICS", mode: "CLIENT" }, disabled: true },
        { match: { metric: "REQUEST_COUNT", mode: "SERVER" }, disabled: true },
      ),
    ],
    [
      "a metric that is enabled again for servers",
      overridden(ofMetric("REQUEST_COUNT", { disabled: true }), {
        match: { metric: "REQUEST_COUNT", mode: "SERVER" },
        disabled: false,
      }),
    ],
    [
      "a metric of the application, and all of Istio",
      overridden(
        { match: { customMetric: "orders" }, disabled: false },
        ofMetric("ALL_METRICS", { tagOverrides: { version: { operation: "REMOVE" } } }),
      ),
    ],
    [
      "two claims for a header, of which tokens may have one",
      claims([
        { header: "x-user", claim: "sub" },
        { header: "x-user", claim: "email" },
      ]),
    ],
    [
      "a metric apart from all others",
      overridden(
        ofMetric("ALL_METRICS", { tagOverrides: { version: { operation: "REMOVE" } } }),
        ofMetric("REQUEST_COUNT", { tagOverrides: { version: { value: "source.workload.name" } } }),
      ),
    ],
    [
      "a metric of clients apart from that of servers",
      overridden(
        { match: { metric: "REQUEST_COUNT", mode: "CLIENT" }, disabled: true },
        { match: { metric: "REQUEST_COUNT", mode: "SERVER" }, disabled: false },
      ),
    ],
  ])("%s", (_, documents) => {
    expect(analyzeAdded(mesh, documents)).toEqual([]);
  });
});

describe("a route of which an older one has the matches", () => {
  const never = (documents: string): readonly string[] =>
    analyzeAdded(mesh, documents)
      .filter(({ message }) => message.startsWith("is never reached: HTTPRoute"))
      .map(({ origin }) => origin ?? "");

  it("is found where only the order of names and namespaces tells which is first", () => {
    const route = (name: string): string =>
      httpRoute(name, [ruleFor("/")], {}, { creationTimestamp: "2024-01-01T00:00:00Z" });
    expect(never(route("b") + route("a"))).toEqual(["HTTPRoute shop/b"]);
  });

  it("gets requests if the older one is not attached, or cannot be applied", () => {
    const canary = httpRoute("canary", [ruleFor("/")]);
    const elsewhere = httpRoute("old", [ruleFor("/")], { parentRefs: [{ name: "front", sectionName: "none" }] });
    const external = httpRoute("old", [
      { ...ruleFor("/"), filters: [{ type: "ExtensionRef", extensionRef: { group: "x", kind: "Y", name: "z" } }] },
    ]);
    const stranger = httpRoute(
      "old",
      [ruleFor("/")],
      { parentRefs: [{ name: "front", namespace: "shop" }] },
      { namespace: "clients" },
    );
    for (const old of [elsewhere, external, stranger]) expect(never(old + canary)).toEqual([]);
  });
});

describe("the gateway of Ingresses that the mesh configuration names", () => {
  const gateway = documentOf({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "gateway", namespace: "istio-system", labels: { istio: "ingress" } },
    spec: { containers: [{ name: "istio-proxy", image: "docker.io/istio/proxyv2:1.31.0" }] },
  });
  const service = o(
    "Service",
    { selector: { istio: "ingress" }, ports: [{ name: "http", port: 80 }] },
    { name: "istio-ingress", namespace: "istio-system" },
  );
  const ingress = documentOf({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "a", namespace: "istio-system", annotations: { "kubernetes.io/ingress.class": "istio" } },
    spec: {
      rules: [
        {
          http: {
            paths: [
              { path: "/", pathType: "Prefix", backend: { service: { name: "istio-ingress", port: { number: 80 } } } },
            ],
          },
        },
      ],
    },
  });
  const named = (name: string): string => service.replaceAll("istio-ingress", name);
  const found = (config: Fields, text = gateway + service): readonly string[] =>
    analyzeTexts({
      files: [{ file: "mesh.yaml", text }],
      meshConfig: { file: "config.yaml", text: JSON.stringify(config) },
      isWholeCluster: true,
    }).messages.map(({ code, message }) => `${code}: ${message}`);

  it("exists", () => {
    expect(found({ ingressSelector: "ingress", ingressService: "istio-ingress" })).toEqual([]);
    expect(found({ ingressSelector: "ingres", ingressService: "istio-ingress" })).toEqual([
      'MESH0010: istio=ingres selects no workload, so that no gateway serves Ingresses; did you mean "ingress"?',
    ]);
    expect(found({ ingressSelector: "ingress", ingressService: "istio-ingres" })).toEqual([
      'IST0101: referenced Service istio-system/istio-ingres not found, so that statuses of Ingresses have no address; did you mean "istio-ingress"?',
    ]);
  });

  it("need not exist if no Ingress is served, or if it may come later", () => {
    expect(found({ ingressControllerMode: "OFF", ingressSelector: "ingres", ingressService: "istio-ingres" })).toEqual(
      [],
    );
    expect(found({ ingressSelector: "edge", ingressService: "edge" })).toEqual([]);
  });

  it("is the default one if there are Ingresses", () => {
    const near = gateway + named("istio-ingressgateways");
    expect(found({}, near)).toEqual([]);
    expect(found({}, near + service + ingress)).toEqual([
      'IST0101: referenced Service istio-system/istio-ingressgateway not found, so that statuses of Ingresses have no address; did you mean "istio-ingressgateways"?',
    ]);
  });
});
