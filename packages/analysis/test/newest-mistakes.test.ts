import type { Message } from "@istiod/analysis";
import { describe, expect, it } from "vitest";
import { describeMistakes, type Mistake } from "./found-mistakes.js";
import { analyzeAdded } from "./messages-of.js";

type Fields = Readonly<Record<string, unknown>>;

const gatewayApi = "gateway.networking.k8s.io/v1";
const versions: Readonly<Record<string, string>> = {
  Service: "v1",
  Deployment: "apps/v1",
  EnvoyFilter: "networking.istio.io/v1alpha3",
  ProxyConfig: "networking.istio.io/v1beta1",
  WasmPlugin: "extensions.istio.io/v1alpha1",
  TrafficExtension: "extensions.istio.io/v1alpha1",
  Telemetry: "telemetry.istio.io/v1",
  AuthorizationPolicy: "security.istio.io/v1",
  ReferenceGrant: "gateway.networking.k8s.io/v1beta1",
};

/** A document with a line for each field. */
const document = (object: Fields): string => `${JSON.stringify(object, undefined, 1)}\n---\n`;
const o = (kind: string, spec: Fields, metadata: Fields = {}): string =>
  document({
    apiVersion: versions[kind] ?? gatewayApi,
    kind,
    metadata: { name: "a", namespace: "shop", ...metadata },
    spec,
  });

const service = (name: string, port: string, number: number): string =>
  o("Service", { clusterIP: "10.96.0.1", selector: { app: name }, ports: [{ name: port, port: number }] }, { name });
const pod = (app: string): string =>
  document({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: app, namespace: "shop", labels: { app } },
    spec: {
      containers: [
        { name: "app", image: "app" },
        { name: "istio-proxy", image: "proxyv2" },
      ],
    },
    status: { phase: "Running", podIP: "10.0.0.1" },
  });
const namespace = (name: string, injection: string): string =>
  document({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { "istio-injection": injection } } });

/** A mesh without a fault, with a Gateway of the Gateway API. */
const mesh = [
  namespace("shop", "enabled"),
  namespace("istio-system", "disabled"),
  namespace("other", "enabled"),
  ...[service("reviews", "http", 9080), service("ratings", "http", 9080), service("db", "tcp", 3306)],
  ...["reviews", "ratings", "db"].map(pod),
  o(
    "Gateway",
    {
      gatewayClassName: "istio",
      listeners: [
        { name: "http", port: 80, protocol: "HTTP" },
        { name: "tls", port: 8443, protocol: "TLS", tls: { mode: "Passthrough" } },
      ],
    },
    { name: "front" },
  ),
].join("");

const parent = { parentRefs: [{ name: "front" }] };
const meshParent = (name: string, port: number): Fields => ({
  parentRefs: [{ group: "", kind: "Service", name, port }],
});
const to = (name = "ratings", port = 9080, more: Fields = {}): Fields => ({ backendRefs: [{ name, port, ...more }] });
const route = (...rules: readonly Fields[]): string => o("HTTPRoute", { ...parent, rules });
const listener = (fields: Fields, metadata: Fields = {}): string =>
  o(
    "Gateway",
    { gatewayClassName: "istio", listeners: [{ name: "x", port: 443, protocol: "HTTPS", ...fields }] },
    metadata,
  );
const selected = (selector: Fields): string =>
  listener({ port: 80, protocol: "HTTP", allowedRoutes: { namespaces: { from: "Selector", ...selector } } });
const backendTls = (validation: Fields, target: Fields = {}): string =>
  o("BackendTLSPolicy", {
    targetRefs: [{ group: "", kind: "Service", name: "ratings", ...target }],
    validation: { hostname: "a.example", ...validation },
  });
const grant = (from: Fields): string =>
  o(
    "ReferenceGrant",
    {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "shop", ...from }],
      to: [{ group: "", kind: "Service" }],
    },
    { namespace: "other" },
  );
const pool = (fields: Fields): string =>
  document({
    apiVersion: "inference.networking.k8s.io/v1",
    kind: "InferencePool",
    metadata: { name: "a", namespace: "shop" },
    spec: { selector: { matchLabels: { app: "llm" } }, targetPorts: [{ number: 8000 }], ...fields },
  });
const filter = (value: Fields, name = "envoy.filters.network.http_connection_manager"): string =>
  o("EnvoyFilter", {
    configPatches: [
      {
        applyTo: "HTTP_FILTER",
        match: { context: "SIDECAR_INBOUND", listener: { filterChain: { filter: { name } } } },
        patch: { operation: "INSERT_FIRST", value: { name: "a", ...value } },
      },
    ],
  });
const lua = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";
const tag = (value: string): string =>
  o("Telemetry", {
    metrics: [
      {
        providers: [{ name: "prometheus" }],
        overrides: [{ match: { metric: "ALL_METRICS" }, tagOverrides: { a: { value } } }],
      },
    ],
  });
const logged = (expression: string): string =>
  o("Telemetry", { accessLogging: [{ providers: [{ name: "envoy" }], filter: { expression } }] });
const extension = (fields: Fields): string => o("TrafficExtension", fields);
const deployment = (annotations: Fields): string =>
  o("Deployment", {
    selector: { matchLabels: { app: "g" } },
    template: { metadata: { labels: { app: "g" }, annotations }, spec: { containers: [{ name: "a", image: "a" }] } },
  });

const mistakes: Readonly<Record<string, Mistake>> = {
  "all backends with weight 0": [
    route(to("ratings", 9080, { weight: 0 })),
    "MESH0065",
    '"backendRefs": [',
    "have weight 0, so that every request gets status 500",
  ],
  "a header twice in a match": [
    route({
      matches: [
        {
          headers: [
            { name: "X-A", value: "1" },
            { name: "x-a", value: "2" },
          ],
        },
      ],
      ...to(),
    }),
    "MESH0065",
    "{",
    "only the first match of header",
  ],
  "a rule with the matches of an earlier one": [
    route(
      { matches: [{ path: { value: "/a" } }], ...to() },
      { matches: [{ path: { value: "/a" } }], ...to("reviews") },
    ),
    "MESH0065",
    "{",
    "is never reached: rules[0] has the same matches and comes first",
  ],
  "HTTP routes for a TCP port of the mesh": [
    o("HTTPRoute", { ...meshParent("db", 3306), rules: [to()] }),
    "MESH0065",
    "{",
    "parent Service db: has no effect, because sidecars treat its port 3306 as TCP",
  ],
  "a route for a port that its Service lacks": [
    o("HTTPRoute", { ...meshParent("ratings", 80), rules: [to()] }),
    "MESH0065",
    "{",
    "Service shop/ratings has no port 80",
  ],
  "hostnames of a route in the mesh": [
    o("HTTPRoute", { ...meshParent("ratings", 9080), hostnames: ["a.example"], rules: [to()] }),
    "MESH0065",
    "{",
    "hostnames have no effect on parents in the mesh",
  ],
  "a parent of kind Service without the group": [
    o("HTTPRoute", { parentRefs: [{ kind: "Service", name: "ratings" }], rules: [to()] }),
    "MESH0064",
    "{",
    'not attached: routes are not attached to objects of kind Service of group "gateway.networking.k8s.io"',
  ],
  "a redirect with backends": [
    route({ ...to(), filters: [{ type: "RequestRedirect", requestRedirect: { scheme: "https" } }] }),
    "IST0106",
    '"backendRefs": [',
    "expected no backends in a rule with a filter of type RequestRedirect",
  ],
  "a replaced prefix of an exact match": [
    route({
      matches: [{ path: { type: "Exact", value: "/a" } }],
      ...to(),
      filters: [{ type: "URLRewrite", urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/" } } }],
    }),
    "IST0106",
    '"matches": [',
    "expected exactly one match of type PathPrefix",
  ],
  "a timeout of backends over that of the request": [
    route({ ...to(), timeouts: { request: "1s", backendRequest: "2s" } }),
    "IST0106",
    '"backendRequest": "2s"',
    "expected at most the timeout of the request",
  ],
  "a mirror that does not exist": [
    route({ ...to(), filters: [{ type: "RequestMirror", requestMirror: { backendRef: { name: "none", port: 80 } } }] }),
    "MESH0063",
    "{",
    "backend(none.shop.svc.cluster.local) not found",
  ],
  "a backend of another namespace without a grant": [
    route(to("x", 80, { namespace: "other" })),
    "MESH0063",
    "{",
    "missing a ReferenceGrant?",
  ],
  "a gRPC route of a listener for TLS": [
    o("GRPCRoute", { parentRefs: [{ name: "front", sectionName: "tls" }], rules: [to()] }),
    "MESH0062",
    "{",
    "kind GRPCRoute is not allowed",
  ],
  "a match of a gRPC method without names": [
    o("GRPCRoute", { ...parent, rules: [{ matches: [{ method: { type: "Exact" } }], ...to() }] }),
    "IST0106",
    '"method": {',
    "expected a service, a method or both",
  ],
  "HTTPS without tls": [
    listener({}),
    "MESH0065",
    "{",
    "listener x: has protocol HTTPS and no tls, so that no connection succeeds",
  ],
  "HTTP at port 443": [
    listener({ protocol: "HTTP" }),
    "MESH0047",
    '"protocol": "HTTP"',
    "clients that send TLS to port 443 fail",
  ],
  "HTTPS that is passed through": [
    listener({ tls: { mode: "Passthrough" } }),
    "IST0106",
    '"mode": "Passthrough"',
    "expected Terminate with protocol HTTPS",
  ],
  "a ConfigMap as certificate": [
    listener({ tls: { certificateRefs: [{ kind: "ConfigMap", name: "c" }] } }),
    "MESH0063",
    "{",
    "only secret is allowed",
  ],
  "a misspelled option of TLS": [
    listener({
      tls: { certificateRefs: [{ name: "c" }], options: { "gateway.istio.io/tls-terminate-mod": "MUTUAL" } },
    }),
    "MESH0003",
    '"gateway.istio.io/tls-terminate-mod": "MUTUAL"',
    "is unknown and has no effect",
  ],
  "routes of selected namespaces without a selector": [
    selected({}),
    "MESH0065",
    '"namespaces": {',
    "selector is missing",
  ],
  "a selector of no namespace": [
    selected({ selector: { matchLabels: { team: "x" } } }),
    "MESH0065",
    '"selector": {',
    "no Namespace has the labels",
  ],
  "a misspelled type of a Gateway's Service": [
    listener({ port: 80, protocol: "HTTP" }, { annotations: { "networking.istio.io/service-type": "LoadBalancr" } }),
    "IST0125",
    '"networking.istio.io/service-type": "LoadBalancr"',
    "expected ClusterIP, LoadBalancer, NodePort",
  ],
  "a policy of backends for a Service that does not exist": [
    backendTls({ wellKnownCACertificates: "System" }, { name: "ratngs" }),
    "MESH0062",
    "{",
    "reference shop/ratngs (of kind Service) not found",
  ],
  "a policy of backends for a port that does not exist": [
    backendTls({ wellKnownCACertificates: "System" }, { sectionName: "htp" }),
    "MESH0062",
    "{",
    'sectionName "htp" does not exist',
  ],
  "roots of a backend twice": [
    backendTls({
      wellKnownCACertificates: "System",
      caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "ca" }],
    }),
    "IST0106",
    '"wellKnownCACertificates": "System",',
    "expected none with caCertificateRefs",
  ],
  "a grant for a kind of another group": [
    grant({ group: "" }),
    "MESH0065",
    '"group": "",',
    "which has no HTTPRoute; write gateway.networking.k8s.io",
  ],
  "a grant for an unknown namespace": [
    grant({ namespace: "shpo" }),
    "MESH0004",
    '"namespace": "shpo"',
    'did you mean "shop"?',
  ],
  "a pool without the variable that enables pools": [
    pool({ endpointPickerRef: { name: "epp", port: { number: 9002 } } }),
    "MESH0002",
    '"kind": "InferencePool",',
    "istiod reads it only with ENABLE_GATEWAY_API_INFERENCE_EXTENSION",
  ],
  "a filter without typed_config": [filter({}), "IST0133", '"value": {', 'has no typed_config for "a"'],
  "config in place of typed_config": [
    filter({ config: {} }),
    "IST0133",
    '"config": {}',
    "is not a field of HttpFilter",
  ],
  "a type of Envoy's v2 API": [
    filter({ typed_config: { "@type": "type.googleapis.com/envoy.config.filter.http.lua.v2.Lua" } }),
    "IST0106",
    '"@type": "type.googleapis.com/envoy.config.filter.http.lua.v2.Lua"',
    "of Envoy's v2 API, which was removed",
  ],
  "a name of Envoy's v2 API": [
    filter({ typed_config: { "@type": lua } }, "envoy.http_connection_manager"),
    "MESH0014",
    '"name": "envoy.http_connection_manager"',
    "which no filter has; write envoy.filters.network.http_connection_manager",
  ],
  "a module's scheme without a colon": [
    o("WasmPlugin", { url: "oci//a.example/f" }),
    "IST0133",
    '"url": "oci//a.example/f"',
    "write :// after the scheme",
  ],
  "a module for a port that workloads lack": [
    o("WasmPlugin", {
      selector: { matchLabels: { app: "ratings" } },
      url: "oci://a.example/f:1",
      match: [{ mode: "SERVER", ports: [{ number: 80 }] }],
    }),
    "MESH0041",
    '"number": 80',
    "which the selected workloads do not have: they have 9080",
  ],
  "code in Lua that nobody calls": [
    extension({ lua: { inlineCode: "function envoy_on_reqest(handle) end" } }),
    "MESH0042",
    '"inlineCode": "function envoy_on_reqest(handle) end"',
    'did you mean "envoy_on_request"?',
  ],
  "code in Lua that is not Lua": [
    extension({ lua: { inlineCode: "function envoy_on_request(h)" } }),
    "IST0106",
    '"inlineCode": "function envoy_on_request(h)"',
    "is not valid Lua: line 1: 'end' expected near \"<eof>\"",
  ],
  "an extension for no workload": [
    extension({
      selector: { matchLabels: { app: "ratngs" } },
      lua: { inlineCode: "function envoy_on_request(h) end" },
    }),
    "MESH0010",
    '"matchLabels": {',
    "selector app=ratngs matches no workload",
  ],
  "text as a tag without quotes": [
    tag("production"),
    "MESH0042",
    '"value": "production"',
    "has the attribute production, which proxies do not have",
  ],
  "a misspelled attribute as a tag": [tag("request.hots"), "MESH0042", '"value": "request.hots"', "did you mean host?"],
  "a misspelled attribute of a log's filter": [
    logged("respons.code >= 500"),
    "MESH0014",
    '"expression": "respons.code >= 500"',
    "did you mean response?, so that no request is logged",
  ],
  "a misspelled template of gRPC": [
    deployment({ "inject.istio.io/templates": "grpc-agnet" }),
    "IST0125",
    '"inject.istio.io/templates": "grpc-agnet"',
    "did you mean grpc-agent?",
  ],
  "a misspelled variable of the agent": [
    o("ProxyConfig", { environmentVariables: { ISTIO_META_DNS_CAPTUR: "true" } }),
    "MESH0042",
    '"ISTIO_META_DNS_CAPTUR": "true"',
    'did you mean "ISTIO_META_DNS_CAPTURE"?',
  ],
  "a misspelled image": [
    o("ProxyConfig", { image: { imageType: "distrolesss" } }),
    "MESH0042",
    '"imageType": "distrolesss"',
    'did you mean "distroless"?',
  ],
  "a policy for a Gateway that does not exist": [
    o("AuthorizationPolicy", {
      targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "frnt" }],
      rules: [{}],
    }),
    "IST0101",
    "{",
    'referenced Gateway shop/frnt not found, so that the object has no effect there; did you mean "front"?',
  ],
  "an appProtocol that is none, with a name that is one": [
    o("Service", { selector: { app: "ratings" }, ports: [{ name: "http", port: 80, appProtocol: "htpp" }] }),
    "MESH0070",
    '"appProtocol": "htpp"',
    'takes precedence over the name "http"',
  ],
};

const analyze = (added: string): readonly Message[] => analyzeAdded(mesh, added);

describeMistakes(mesh, mistakes);

describe("what looks alike is right", () => {
  it.each(
    Object.entries({
      "rules with other matches, and weights": route(
        {
          matches: [{ path: { value: "/a" } }],
          ...to("ratings", 9080, { weight: 0 }),
          backendRefs: [
            { name: "ratings", port: 9080, weight: 0 },
            { name: "reviews", port: 9080 },
          ],
        },
        { matches: [{ path: { value: "/a" } }, { path: { value: "/b" } }], ...to("reviews") },
      ),
      "a selector of a namespace by its name": selected({
        selector: { matchLabels: { "kubernetes.io/metadata.name": "other" } },
      }),
      "a grant": grant({}),
      "an appProtocol like the name": o("Service", {
        selector: { app: "ratings" },
        ports: [
          { name: "grpc-a", port: 80, appProtocol: "kubernetes.io/h2c" },
          { name: "web", port: 81, appProtocol: "http" },
        ],
      }),
      "a filter in Lua": filter({
        typed_config: { "@type": lua, default_source_code: { inline_string: "-- nothing" } },
      }),
      "tags of text and attributes": tag("'production'"),
      "an attribute of a plugin": tag("istio_operationId"),
      "a filter of logs": logged("response.code >= 500 || request.method == 'POST'"),
      "a policy for a Gateway": o("AuthorizationPolicy", {
        targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "front" }],
        rules: [{}],
      }),
      "a template of one's own": deployment({ "inject.istio.io/templates": "sidecar,company" }),
      "variables of the agent and of one's own": o("ProxyConfig", {
        environmentVariables: { ISTIO_META_DNS_CAPTURE: "true", ISTIO_META_TEAM: "a", COMPANY: "b" },
      }),
    }),
  )("%s", (_, text) => {
    const general = ({ code, message }: Message): boolean => code === "IST0133" && message.startsWith("EnvoyFilter");
    expect(analyze(text).filter((message) => !general(message))).toEqual([]);
  });
});

it("a port whose appProtocol hides the protocol of its name is not called unnamed; behind TLS that ends before, it is not reported", () => {
  const port = (fields: Fields): readonly string[] =>
    analyze(o("Service", { selector: { app: "ratings" }, ports: [{ port: 443, ...fields }] })).map(
      ({ code, level }) => `${code} ${level}`,
    );
  expect(port({ name: "http", appProtocol: "htpp" })).toEqual(["MESH0070 Warning"]);
  expect(port({ name: "http", appProtocol: "tcp" })).toEqual(["MESH0070 Warning"]);
  expect(port({ name: "https", appProtocol: "http" })).toEqual(["MESH0070 Info"]);
});
