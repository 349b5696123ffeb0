import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { describeMistakes, type Mistake } from "./found-mistakes.js";
import { analyzeAdded } from "./messages-of.js";
import { documentOf, type Fields, objectWriter } from "./mistake-objects.js";

const gatewayApi = "gateway.networking.k8s.io/v1";
const versions: Readonly<Record<string, string>> = {
  Service: "v1",
  Telemetry: "telemetry.istio.io/v1",
  RequestAuthentication: "security.istio.io/v1",
  AuthorizationPolicy: "security.istio.io/v1",
  HTTPRoute: gatewayApi,
  Ingress: "networking.k8s.io/v1",
};

const o = objectWriter(versions);

const namespace = (name: string, injection: string): string =>
  documentOf({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { "istio-injection": injection } } });
const service = (name: string, port: string, number: number, more: Fields = {}): string =>
  o(
    "Service",
    { clusterIP: "10.96.0.1", selector: { app: name }, ports: [{ name: port, port: number, ...more }] },
    { name },
  );
const pod = (app: string, labels: Fields = { app }, namespace = "shop"): string =>
  documentOf({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: app, namespace, labels },
    spec: { containers: [{ name: "istio-proxy", image: "proxyv2" }] },
    status: { phase: "Running", podIP: "10.0.0.1" },
  });

/** A mesh without a fault, with the gateways of both APIs and the class of Ingresses. */
const mesh = [
  namespace("shop", "enabled"),
  namespace("istio-system", "disabled"),
  ...["reviews", "ratings"].flatMap((name) => [service(name, "http", 9080), pod(name)]),
  o(
    "Service",
    {
      type: "LoadBalancer",
      selector: { istio: "ingressgateway" },
      ports: [
        { name: "https", port: 443 },
        { name: "http", port: 80 },
      ],
    },
    { name: "istio-ingressgateway", namespace: "istio-system" },
  ),
  pod("ingress", { istio: "ingressgateway" }, "istio-system"),
  documentOf({
    apiVersion: gatewayApi,
    kind: "Gateway",
    metadata: { name: "front", namespace: "shop" },
    spec: { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
  }),
  documentOf({
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: "istio" },
    spec: { controller: "istio.io/ingress-controller" },
  }),
].join("");

const route = [{ destination: { host: "ratings" } }];
const routed = (http: Fields): string => o("VirtualService", { hosts: ["ratings"], http: [http] });
const matched = (match: Fields): string => routed({ match: [match], route });
const rewritten = (match: string, rewrite: string): string =>
  routed({ match: [{ uri: { prefix: "/a" } }], rewrite: { uriRegexRewrite: { match, rewrite } }, route });
const server = (server: Fields, tls: Fields): string =>
  o(
    "Gateway",
    {
      selector: { istio: "ingressgateway" },
      servers: [
        {
          port: { number: 443, name: "https", protocol: "HTTPS" },
          hosts: ["a.example"],
          tls: { mode: "SIMPLE", serverCertificate: "/a", privateKey: "/b", ...tls },
          ...server,
        },
      ],
    },
    { name: "gate" },
  ) + o("VirtualService", { hosts: ["a.example"], gateways: ["gate"], http: [{ route }] }, { name: "gate" });
const selector = { selector: { matchLabels: { app: "ratings" } } };
const policy = (rule: Fields): string => o("AuthorizationPolicy", { ...selector, rules: [rule] });
const conditional = (key: string, condition: Fields): string => policy({ when: [{ key, ...condition }] });
const jwks = JSON.stringify({
  keys: [{ ...generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" }), kid: "a" }],
});
const issuer = "https://issuer.example";
const tokens = (rule: Fields = {}): string =>
  o("RequestAuthentication", { ...selector, jwtRules: [{ issuer, jwks, ...rule }] }, { name: "tokens" });
const logged = (expression: string): string =>
  o("Telemetry", { accessLogging: [{ providers: [{ name: "envoy" }], filter: { expression } }] });
const httpRoute = (rule: Fields): string => o("HTTPRoute", { parentRefs: [{ name: "front" }], rules: [rule] });
const backendRefs = [{ name: "ratings", port: 9080 }];
const ingress = (path: Fields, metadata: Fields = {}): string =>
  o(
    "Ingress",
    {
      ingressClassName: "istio",
      rules: [
        {
          host: "a.example",
          http: {
            paths: [
              {
                path: "/",
                pathType: "Prefix",
                backend: { service: { name: "ratings", port: { number: 9080 } } },
                ...path,
              },
            ],
          },
        },
      ],
    },
    metadata,
  );
const backend = (name: string, port: Fields): Fields => ({ backend: { service: { name, port } } });

const named = o("ServiceEntry", {
  hosts: ["api.example"],
  location: "MESH_EXTERNAL",
  resolution: "DNS",
  ports: [{ number: 443, name: "tls", protocol: "TLS" }],
  subjectAltNames: ["api.example"],
});
const verified = (trafficPolicy: Fields): string =>
  named + o("DestinationRule", { host: "api.example", trafficPolicy });

const mistakes: Readonly<Record<string, Mistake>> = {
  "a group of a pattern as in JavaScript": [
    rewritten("^/a/(.*)$", "/$1"),
    "MESH0077",
    '"rewrite": "/$1"',
    'has "$1", which is sent as it is, expected "\\\\1"',
  ],
  "a group that the pattern lacks": [
    rewritten("^/a/.*$", "/\\1"),
    "MESH0077",
    '"rewrite": "/\\\\1"',
    "and the pattern has 0 groups, so that no path is rewritten",
  ],
  "a group that the pattern lacks, after a backslash": [
    rewritten("^/a/.*$", "/\\\\\\1"),
    "MESH0077",
    '"rewrite": "/\\\\\\\\\\\\1"',
    'has "\\\\1", and the pattern has 0 groups, so that no path is rewritten',
  ],
  "a URL as the path of a redirect": [
    routed({ redirect: { uri: "https://new.example/x" } }),
    "MESH0077",
    '"uri": "https://new.example/x"',
    'expected the path "/x", and the host in authority: "new.example"',
  ],
  "a redirect to a path without a slash": [
    routed({ match: [{ uri: { exact: "/old" } }], redirect: { uri: "new" } }),
    "MESH0077",
    '"uri": "new"',
    'which is sent after the host of the redirect as it is, expected a path: "/new"',
  ],
  "a URL as the authority of a redirect": [
    routed({ redirect: { authority: "https://new.example" } }),
    "MESH0077",
    '"authority": "https://new.example"',
    'which is sent as it is, expected a host: "new.example"',
  ],
  "a path in the authority of a redirect": [
    routed({ redirect: { authority: "new.example/x" } }),
    "MESH0077",
    '"authority": "new.example/x"',
    'expected a host: "new.example"',
  ],
  "a URL as the authority of a rewrite": [
    routed({ rewrite: { authority: "http://new.example" }, route }),
    "MESH0077",
    '"authority": "http://new.example"',
    'expected a host: "new.example"',
  ],
  "a rewrite to a path without a slash": [
    routed({ match: [{ uri: { prefix: "/api" } }], rewrite: { uri: "v1" }, route }),
    "MESH0077",
    '"uri": "v1"',
    'http[0].rewrite.uri: is "v1", which is sent as the beginning of the path, expected a path: "/v1"',
  ],
  "a query parameter with its sign": [
    matched({ queryParams: { "user=": { exact: "x" } } }),
    "MESH0014",
    '"user=": {',
    'no query parameter has this name, because = ends it, expected "user"',
  ],
  "a query parameter's sign without a name": [
    matched({ queryParams: { "=user": { exact: "x" } } }),
    "MESH0014",
    '"=user": {',
    "no query parameter has this name, because = ends it, expected a name",
  ],
  "a header that is required and excluded": [
    matched({ headers: { "x-a": { exact: "1" } }, withoutHeaders: { "X-A": { exact: "1" } } }),
    "MESH0014",
    '"X-A": {',
    "excludes what headers requires",
  ],
  "a URL as SNI": [
    o("DestinationRule", {
      host: "ratings",
      trafficPolicy: { tls: { mode: "SIMPLE", sni: "https://a.example", caCertificates: "/ca.pem" } },
    }),
    "MESH0077",
    '"sni": "https://a.example",',
    'expected a host: "a.example"',
  ],
  "cipher suites with TLS 1.3 only": [
    server({}, { minProtocolVersion: "TLSV1_3", cipherSuites: ["ECDHE-RSA-AES128-GCM-SHA256"] }),
    "MESH0042",
    '"cipherSuites": [',
    "has no effect with minProtocolVersion TLSV1_3",
  ],
  "a lowest version above the highest": [
    server({}, { minProtocolVersion: "TLSV1_3", maxProtocolVersion: "TLSV1_2" }),
    "MESH0047",
    '"minProtocolVersion": "TLSV1_3",',
    "above maxProtocolVersion TLSV1_2, so that no connection succeeds",
  ],
  "names of clients that show no certificate": [
    server({}, { subjectAltNames: ["client.example"] }),
    "MESH0042",
    '"subjectAltNames": [',
    "has no effect in mode SIMPLE",
  ],
  "roots for clients that show no certificate": [
    server({}, { caCertificates: "/ca.pem" }),
    "MESH0042",
    '"caCertificates": "/ca.pem"',
    "has no effect in mode SIMPLE",
  ],
  "names to verify without TLS": [
    named,
    "MESH0042",
    '"subjectAltNames": [',
    "no DestinationRule originates TLS to the hosts",
  ],
  "a principal of tokens without a subject": [
    tokens() + policy({ from: [{ source: { requestPrincipals: [issuer] } }] }),
    "MESH0014",
    `"${issuer}"`,
    `which no token has: principals are ISSUER/SUBJECT, and the workloads accept tokens of ${issuer}`,
  ],
  "a principal of another issuer": [
    tokens() + conditional("request.auth.principal", { values: ["https://other.example/*"] }),
    "MESH0014",
    '"https://other.example/*"',
    "which no token has",
  ],
  "a claim of another issuer": [
    tokens() + conditional("request.auth.claims[iss]", { values: ["https://other.example"] }),
    "MESH0014",
    '"https://other.example"',
    "which no token has",
  ],
  "a header of tokens with its prefix": [
    tokens({ fromHeaders: [{ name: "Authorization: Bearer" }] }),
    "MESH0014",
    '"name": "Authorization: Bearer"',
    'and no header has this name, expected "Authorization"',
  ],
  "a query parameter of tokens with its sign": [
    tokens({ fromParams: ["?token"] }),
    "MESH0014",
    '"?token"',
    'and no query parameter has this name, expected "token"',
  ],
  "a cookie of tokens with its sign": [
    tokens({ fromCookies: ["token="] }),
    "MESH0014",
    '"token="',
    'and no cookie has this name, expected "token"',
  ],
  "two methods in one value": [
    policy({ to: [{ operation: { methods: ["GET, POST"] } }] }),
    "MESH0014",
    '"GET, POST"',
    'which no method matches, expected "GET" and "POST"',
  ],
  "a method without letters": [
    policy({ to: [{ operation: { methods: [" "] } }] }),
    "MESH0014",
    '" "',
    'methods[0]: is " ", which no method matches, expected a method such as "GET"',
  ],
  "a misspelled namespace in a condition": [
    conditional("source.namespace", { values: ["shpo"] }),
    "MESH0004",
    '"shpo"',
    'namespace "shpo" does not exist; did you mean "shop"?',
  ],
  "a principal with its scheme in a condition": [
    conditional("source.principal", { notValues: ["spiffe://cluster.local/ns/shop/sa/reviews"] }),
    "MESH0014",
    '"spiffe://cluster.local/ns/shop/sa/reviews"',
    "principals are written without spiffe://",
  ],
  "the name of a service account as principal in a condition": [
    conditional("source.principal", { values: ["reviews"] }),
    "MESH0014",
    '"reviews"',
    "which no workload has, expected cluster.local/ns/NAMESPACE/sa/reviews",
  ],
  "a principal of a misspelled namespace in a condition": [
    conditional("source.principal", { values: ["cluster.local/ns/shpo/sa/reviews"] }),
    "MESH0004",
    '"cluster.local/ns/shpo/sa/reviews"',
    'namespace "shpo" does not exist',
  ],
  "a Service's address as a source in a condition": [
    conditional("source.ip", { values: ["10.96.0.1"] }),
    "MESH0014",
    '"10.96.0.1"',
    "from which no connection comes",
  ],
  "a condition that excludes what it requires": [
    conditional("request.headers[x-a]", { values: ["1"], notValues: ["1"] }),
    "MESH0014",
    '"values": [',
    "never matches, because notValues excludes every value: 1",
  ],
  "an identity in a condition where mutual TLS is disabled": [
    documentOf({
      apiVersion: "security.istio.io/v1",
      kind: "PeerAuthentication",
      metadata: { name: "plain", namespace: "shop" },
      spec: { mtls: { mode: "DISABLE" } },
    }) + conditional("source.namespace", { values: ["shop"] }),
    "MESH0014",
    '"key": "source.namespace",',
    "source.namespace never matches, because mutual TLS is disabled",
  ],
  "a number in quotes in a log's filter": [
    logged("response.code >= '400'"),
    "MESH0014",
    '"expression": "response.code >= \'400\'"',
    'compares response.code, a number, with "400", a string, which is never true, expected 400 without quotes',
  ],
  "a number in quotes in a part of a log's filter": [
    logged("request.path == '/a' && (response.code == '400' && true)"),
    "MESH0014",
    `"expression": "request.path == '/a' && (response.code == '400' && true)"`,
    'compares response.code, a number, with "400", a string, which is never true, expected 400 without quotes',
  ],
  "a number as a log's filter": [
    logged("response.code"),
    "MESH0014",
    '"expression": "response.code"',
    "is response.code, a number, which is not true",
  ],
  "a port of a WorkloadEntry that its services lack": [
    o("WorkloadEntry", { address: "10.1.0.1", labels: { app: "ratings" }, ports: { web: 8080 } }),
    "MESH0041",
    '"web": 8080',
    "no service of the workload has a port of this name: they have http",
  ],
  "an address of a WorkloadGroup": [
    o("WorkloadGroup", {
      metadata: { labels: { app: "vm" } },
      template: { address: "10.1.0.1", serviceAccount: "vm" },
    }),
    "MESH0042",
    '"address": "10.1.0.1",',
    "workloads register with their own address",
  ],
  "an asterisk at the end of a route's prefix": [
    httpRoute({ matches: [{ path: { type: "PathPrefix", value: "/api/*" } }], backendRefs }),
    "MESH0014",
    '"value": "/api/*"',
    'whose * only matches an asterisk, expected prefix "/api/"',
  ],
  "a replaced path of a route without a slash": [
    httpRoute({
      filters: [{ type: "URLRewrite", urlRewrite: { path: { type: "ReplaceFullPath", replaceFullPath: "v1" } } }],
      backendRefs,
    }),
    "MESH0077",
    '"replaceFullPath": "v1"',
    'urlRewrite.path.replaceFullPath: is "v1", which is sent as the path, expected a path: "/v1"',
  ],
  "a replaced prefix of a route with a URL": [
    httpRoute({
      matches: [{ path: { type: "PathPrefix", value: "/a" } }],
      filters: [
        {
          type: "URLRewrite",
          urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "http://b.example:80/x" } },
        },
      ],
      backendRefs,
    }),
    "MESH0077",
    '"replacePrefixMatch": "http://b.example:80/x"',
    'which is sent as the beginning of the path, expected the path "/x", and the host in hostname: "b.example"',
  ],
  "a redirect of a route to a path without a slash": [
    httpRoute({
      filters: [
        { type: "RequestRedirect", requestRedirect: { path: { type: "ReplaceFullPath", replaceFullPath: "new" } } },
      ],
    }),
    "MESH0077",
    '"replaceFullPath": "new"',
    'which is sent after the host of the redirect as it is, expected a path: "/new"',
  ],
  "a redirect of a route to the scheme of the listener": [
    httpRoute({ filters: [{ type: "RequestRedirect", requestRedirect: { scheme: "http" } }] }),
    "MESH0043",
    '"scheme": "http"',
    "requests to listener http are redirected to the http that they have already, without an end",
  ],
  "a port of an Ingress that its Service lacks": [
    ingress(backend("ratings", { name: "web" })),
    "MESH0041",
    '"port": {',
    "Service shop/ratings has no port web, so that requests to the path fail: it has http 9080",
  ],
  "a Service of an Ingress that does not exist": [
    ingress(backend("ratngs", { number: 9080 })),
    "IST0101",
    '"name": "ratngs",',
    "referenced Service shop/ratngs not found",
  ],
  "a backend of an Ingress as in v1beta1": [
    ingress({ backend: { serviceName: "ratings", servicePort: 9080 } }),
    "IST0106",
    '"serviceName": "ratings",',
    "expected service.name, as of networking.k8s.io/v1",
  ],
  "a path of an Ingress as ingress-nginx has it": [
    ingress({ path: "/foo(/|$)(.*)", pathType: "ImplementationSpecific" }),
    "MESH0014",
    '"path": "/foo(/|$)(.*)",',
    "which is compared as it is, not as a pattern",
  ],
  "an annotation of ingress-nginx": [
    ingress({}, { annotations: { "nginx.ingress.kubernetes.io/rewrite-target": "/" } }),
    "MESH0042",
    '"nginx.ingress.kubernetes.io/rewrite-target": "/"',
    "has no effect: gateways of Istio serve the Ingress",
  ],
  "an asterisk at the end of an Ingress's prefix": [
    ingress({ path: "/api/*" }),
    "MESH0014",
    '"path": "/api/*",',
    "whose * only matches an asterisk",
  ],
  "an annotation as a label": [
    o(
      "Service",
      { selector: { app: "ratings" }, ports: [{ name: "http", port: 80, targetPort: 9080 }] },
      { labels: { "networking.istio.io/exportTo": "shop" } },
    ),
    "IST0107",
    '"networking.istio.io/exportTo": "shop"',
    "it has no effect as a label; move it to annotations",
  ],
  "HTTP over UDP": [
    o("Service", { selector: { app: "ratings" }, ports: [{ name: "http", port: 80, protocol: "UDP" }] }),
    "MESH0070",
    '"protocol": "UDP"',
    'is UDP, which proxies do not serve, and the name "http" is of HTTP',
  ],
};

describeMistakes(mesh, mistakes);

describe("nothing is said of what is right next to them", () => {
  it.each<readonly [string, string]>([
    ["groups of a pattern", rewritten("^/a/(.*)$", "/\\1")],
    ["a backslash and a digit in a path without groups", rewritten("^/a$", "/\\\\1")],
    ["a number in quotes in an alternative of a log's filter", logged("response.code == '200' || true")],
    ["a number in quotes in a negation of a log's filter", logged("!(response.code == '200')")],
    ["a number in quotes in a branch of a log's filter", logged("true ? true : response.code == '200'")],
    ["a dollar sign in a path without groups", rewritten("^/a$", "/$1")],
    ["a redirect to a host and a path", routed({ redirect: { authority: "new.example:8443", uri: "/x" } })],
    [
      "another value of a header excluded",
      matched({ headers: { "x-a": { prefix: "1" } }, withoutHeaders: { "x-a": { exact: "12" } } }),
    ],
    [
      "the subjects of an issuer",
      tokens() +
        policy({
          from: [
            {
              source: {
                requestPrincipals: [`${issuer}/*`, `${issuer}/alice*`, "*", "*/alice", "*.example/alice", "*alice"],
              },
            },
          ],
        }),
    ],
    ["a claim of the issuer", tokens() + conditional("request.auth.claims[iss]", { values: [issuer, "https://*"] })],
    ["a token in a parameter and a cookie", tokens({ fromParams: ["access_token"], fromCookies: ["session.id"] })],
    ["a number in a log's filter", logged("response.code >= 400 && request.path != '400'")],
    [
      "a port of a WorkloadEntry",
      o("WorkloadEntry", { address: "10.1.0.1", labels: { app: "ratings" }, ports: { http: 8080 } }),
    ],
    [
      "a redirect of a route to HTTPS",
      httpRoute({ filters: [{ type: "RequestRedirect", requestRedirect: { scheme: "https" } }] }),
    ],
    [
      "a redirect of a route to another host",
      httpRoute({ filters: [{ type: "RequestRedirect", requestRedirect: { scheme: "http", hostname: "b.example" } }] }),
    ],
    ["a path of an Ingress that ends in a wildcard", ingress({ path: "/api/.*", pathType: "ImplementationSpecific" })],
    ["a port of an Ingress by its name", ingress(backend("ratings", { name: "http" }))],
    [
      "labels that are also annotations",
      pod("other", { app: "x", "sidecar.istio.io/inject": "true", "istio.io/rev": "default" }),
    ],
    [
      "HTTP/3 over UDP",
      o("Service", {
        selector: { app: "ratings" },
        ports: [
          { name: "http3", port: 443, protocol: "UDP" },
          { name: "https", port: 443, targetPort: 9443 },
        ],
      }),
    ],
  ])("%s", (_, documents) => {
    expect(analyzeAdded(mesh, documents)).toEqual([]);
  });

  it.each(["SIMPLE", "MUTUAL", "ISTIO_MUTUAL"])("names are verified with TLS of mode %s", (mode) => {
    const tls = { mode, ...(mode === "MUTUAL" && { clientCertificate: "/a", privateKey: "/b" }) };
    for (const policy of [{ tls }, { portLevelSettings: [{ port: { number: 443 }, tls }] }])
      expect(analyzeAdded(mesh, verified(policy)).map(({ code }) => code)).not.toContain("MESH0042");
    expect(analyzeAdded(mesh, verified({ tls: { mode: "DISABLE" } })).map(({ code }) => code)).toContain("MESH0042");
  });

  it("the ports of a service of a WorkloadEntry are not named if they have no names", () => {
    const unnamed = o("Service", { selector: { app: "vm" }, ports: [{ port: 80 }] }, { name: "vm" });
    const entry = o("WorkloadEntry", { address: "10.1.0.1", labels: { app: "vm" }, ports: { web: 8080 } });
    expect(analyzeAdded(mesh, unnamed + entry).map(({ message }) => message)).toContain(
      "port web has no effect: no service of the workload has a port of this name: their ports have no names",
    );
  });

  const auth0 = "https://x.auth0.com/";
  it.each([
    [issuer, "https://*"],
    [issuer, `${issuer}/a/*`],
    [issuer, "*.test/alice"],
    ["tokens@issuer.example", "tokens@issuer.example"],
    [auth0, `${auth0}*`],
    [auth0, `${auth0}alice`],
  ])("tokens of issuer %s do not have the principal %s", (own, value) => {
    const added = (principal: string) =>
      analyzeAdded(
        mesh,
        tokens({ issuer: own }) + policy({ from: [{ source: { requestPrincipals: [principal] } }] }),
      ).map(({ message }) => message);
    const right = `${own}/*`;
    expect(added(value)).toEqual([
      `is ${JSON.stringify(value)}, which no token has: principals are ISSUER/SUBJECT, and the workloads accept tokens of ${own}; write ${JSON.stringify(right)} for all of an issuer`,
    ]);
    expect(added(right)).toEqual([]);
  });

  it("a redirect to a URL is not said to be redirected again", () => {
    const found = analyzeAdded(mesh, routed({ redirect: { uri: "https://new.example/x" } }));
    expect(found.map(({ code }) => code)).toEqual(["MESH0077"]);
  });

  it("routes apply at a server with HTTP that redirects to HTTPS", () => {
    const redirecting = server(
      { port: { number: 80, name: "http", protocol: "HTTP" } },
      { mode: undefined, serverCertificate: undefined, privateKey: undefined, httpsRedirect: true },
    );
    expect(analyzeAdded(mesh, redirecting).map(({ code }) => code)).toEqual(["MESH0023"]);
  });
});
