import { describe, expect, it } from "vitest";
import { describeMistakes, type Mistake } from "./found-mistakes.js";
import { analyzeAdded } from "./messages-of.js";
import { analyzeTexts, type Message } from "@istiod/analysis";
import { documentOf, type Fields, objectWriter } from "./mistake-objects.js";

const gatewayApi = "gateway.networking.k8s.io/v1";
const o = objectWriter({
  Service: "v1",
  PeerAuthentication: "security.istio.io/v1",
  AuthorizationPolicy: "security.istio.io/v1",
  RequestAuthentication: "security.istio.io/v1",
  Telemetry: "telemetry.istio.io/v1",
  WasmPlugin: "extensions.istio.io/v1alpha1",
  ProxyConfig: "networking.istio.io/v1beta1",
  HTTPRoute: gatewayApi,
  Gateway: gatewayApi,
  Ingress: "networking.k8s.io/v1",
});

const namespace = (name: string, injection: string): string =>
  documentOf({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { "istio-injection": injection } } });
const service = (name: string): string =>
  o("Service", { selector: { app: name }, ports: [{ name: "http", port: 9080 }] }, { name });
const deployment = (
  app: string,
  container?: Fields,
  {
    annotations,
    labels,
    spec,
    template,
  }: { annotations?: Fields; labels?: Fields; spec?: Fields; template?: Fields } = {},
): string =>
  documentOf({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: app, namespace: "shop" },
    spec: {
      selector: { matchLabels: { app } },
      ...spec,
      template: {
        metadata: { labels: { app, ...labels }, annotations },
        spec: {
          serviceAccountName: `shop-${app}`,
          containers: [{ name: "app", image: "app", ...container }],
          ...template,
        },
      },
    },
  });

/** A mesh without a fault, of workloads with service accounts of their own. */
const mesh = [
  namespace("shop", "enabled"),
  ...["reviews", "ratings"].flatMap((name) => [service(name), deployment(name)]),
  documentOf({
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: "nginx" },
    spec: { controller: "k8s.io/ingress-nginx" },
  }),
].join("");

const route = [{ destination: { host: "ratings" } }];
const routed = (http: Fields): string => o("VirtualService", { hosts: ["ratings"], http: [{ route, ...http }] });
const rewritten = (match: readonly Fields[], pattern: string): string =>
  routed({ match, rewrite: { uriRegexRewrite: { match: pattern, rewrite: "/x" } } });
const trafficPolicy = (trafficPolicy: Fields, host = "ratings"): string =>
  o("DestinationRule", { host, trafficPolicy });
const mutual = (...subjectAltNames: string[]): string =>
  trafficPolicy({ tls: { mode: "ISTIO_MUTUAL", subjectAltNames } });
const locality = (failoverPriority: readonly string[]): string =>
  trafficPolicy({
    outlierDetection: { consecutive5xxErrors: 5 },
    loadBalancer: { localityLbSetting: { failoverPriority } },
  });
const policy = (rule: Fields): string =>
  o("AuthorizationPolicy", { selector: { matchLabels: { app: "ratings" } }, rules: [rule] });
const ingress = (ingressClassName: string | undefined, annotations: Fields = {}): string =>
  o(
    "Ingress",
    {
      ingressClassName,
      rules: [
        {
          host: "a.example",
          http: {
            paths: [
              { path: "/", pathType: "Prefix", backend: { service: { name: "ratings", port: { number: 9080 } } } },
            ],
          },
        },
      ],
    },
    { annotations },
  );
const outside = (more: Fields = {}): string =>
  o("ServiceEntry", {
    hosts: ["ratings.example"],
    resolution: "STATIC",
    ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 9080 }],
    workloadSelector: { labels: { app: "ratings" } },
    ...more,
  });
const strict = (spec: Fields = {}): string => o("PeerAuthentication", { mtls: { mode: "STRICT" }, ...spec });
const changedHeaders = (operations: Fields): string =>
  o("HTTPRoute", {
    parentRefs: [{ kind: "Service", group: "", name: "reviews", port: 9080 }],
    rules: [
      {
        backendRefs: [{ name: "ratings", port: 9080 }],
        filters: [{ type: "RequestHeaderModifier", requestHeaderModifier: operations }],
      },
    ],
  });

const retried = (retryOn: string): string => routed({ retries: { attempts: 2, retryOn } });
const tokens = (rule: Fields): string =>
  o("RequestAuthentication", {
    selector: { matchLabels: { app: "ratings" } },
    jwtRules: [{ issuer: "https://issuer.example", jwks: '{"keys": []}', ...rule }],
  });
const keysAt = (jwksUri: string): string => tokens({ jwks: undefined, jwksUri });
const logged = (expression: string): string =>
  o("Telemetry", { accessLogging: [{ providers: [{ name: "envoy" }], filter: { expression } }] });
const originated = (portLevelSettings: Fields): string =>
  o("ServiceEntry", {
    hosts: ["api.example"],
    location: "MESH_EXTERNAL",
    resolution: "DNS",
    ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 443 }],
  }) +
  trafficPolicy(
    { tls: { mode: "SIMPLE", caCertificates: "system" }, portLevelSettings: [portLevelSettings] },
    "api.example",
  );
const ofPort = (settings: Fields, number = 9080): Fields => ({ port: { number }, ...settings });
const random = { loadBalancer: { simple: "RANDOM" } };

/** A workload of the Service `data`. */
const tiered = (app: string, spec: Fields): string => deployment(app, undefined, { spec, labels: { tier: "data" } });

const mistakes: Readonly<Record<string, Mistake>> = {
  "identities of mutual TLS that no workload of the host has": [
    mutual("spiffe://cluster.local/ns/shop/sa/shop-rating"),
    "MESH0017",
    '"subjectAltNames": [',
    'which no workload of ratings.shop.svc.cluster.local is: they are spiffe://cluster.local/ns/shop/sa/shop-ratings, so that clients reject every connection; did you mean "spiffe://cluster.local/ns/shop/sa/shop-ratings"?',
  ],
  "identities of mutual TLS that no workload of a subset has": [
    o("DestinationRule", {
      host: "ratings",
      subsets: [
        {
          name: "v1",
          labels: { app: "ratings" },
          trafficPolicy: {
            tls: { mode: "ISTIO_MUTUAL", subjectAltNames: ["spiffe://cluster.local/ns/shop/sa/default"] },
          },
        },
      ],
    }),
    "MESH0017",
    '"subjectAltNames": [',
    "they are spiffe://cluster.local/ns/shop/sa/shop-ratings, so that clients reject every connection",
  ],
  "an identity to verify without its scheme": [
    mutual("cluster.local/ns/shop/sa/shop-ratings"),
    "MESH0014",
    '"cluster.local/ns/shop/sa/shop-ratings"',
    'which no certificate has: identities have a scheme, expected "spiffe://cluster.local/ns/shop/sa/shop-ratings"',
  ],
  "a pattern as an identity to verify": [
    mutual("spiffe://cluster.local/ns/shop/sa/*"),
    "MESH0014",
    '"spiffe://cluster.local/ns/shop/sa/*"',
    "which no certificate has: names are compared as a whole, expected each identity in full",
  ],
  "an identity of a ServiceEntry without its scheme": [
    outside({ location: "MESH_INTERNAL", subjectAltNames: ["cluster.local/ns/shop/sa/shop-ratings"] }),
    "MESH0014",
    '"cluster.local/ns/shop/sa/shop-ratings"',
    "which no certificate has: identities have a scheme",
  ],
  "a misspelled service account in a principal": [
    policy({ from: [{ source: { principals: ["cluster.local/ns/shop/sa/shop-reviws"] } }] }),
    "MESH0014",
    '"cluster.local/ns/shop/sa/shop-reviws"',
    'no workload of namespace shop runs with service account "shop-reviws"; did you mean "shop-reviews"?',
  ],
  "a misspelled service account of a source": [
    policy({ from: [{ source: { serviceAccounts: ["shop/shop-reviws"] } }] }),
    "MESH0014",
    '"shop/shop-reviws"',
    'no workload of namespace shop runs with service account "shop-reviws"; did you mean "shop-reviews"?',
  ],
  "a misspelled service account in a condition": [
    policy({ when: [{ key: "source.serviceAccount", values: ["shop-reviws"] }] }),
    "MESH0014",
    '"shop-reviws"',
    'no workload of namespace shop runs with service account "shop-reviws"; did you mean "shop-reviews"?',
  ],
  "a rewrite by a pattern that no path of the match begins with": [
    rewritten([{ uri: { prefix: "/v2/" } }, { uri: { prefix: "/v3/" } }], "^/v1/(.*)"),
    "MESH0042",
    '"match": "^/v1/(.*)",',
    'which no path of the route has, so that none is rewritten: the route matches "/v2/", "/v3/"',
  ],
  "a rewrite by a pattern that the path of the match lacks": [
    rewritten([{ uri: { exact: "/api" } }], "/v[0-9]+"),
    "MESH0042",
    '"match": "/v[0-9]+",',
    'which no path of the route has, so that none is rewritten: the route matches "/api"',
  ],
  "a header that is both set and removed": [
    routed({ headers: { request: { set: { "X-Id": "1" }, remove: ["x-id"] } } }),
    "MESH0042",
    '"x-id"',
    "is x-id, which has no effect: proxies remove headers first, and set then adds it; write it in one of them",
  ],
  "a header that is both set and removed by an HTTPRoute": [
    changedHeaders({ set: [{ name: "x-id", value: "1" }], remove: ["X-Id"] }),
    "MESH0042",
    '"X-Id"',
    "is X-Id, which has no effect: proxies remove headers first",
  ],
  "an idle timeout over the duration of connections": [
    trafficPolicy({ connectionPool: { tcp: { idleTimeout: "1h", maxConnectionDuration: "10m" } } }),
    "MESH0042",
    '"idleTimeout": "1h",',
    "is 3600s, which has no effect: maxConnectionDuration ends connections after 600s",
  ],
  "a misspelled label of failover": [
    locality(["topology.kubernetes.io/regoin"]),
    "MESH0042",
    '"topology.kubernetes.io/regoin"',
    'which has no effect unless workloads have the label: did you mean "topology.kubernetes.io/region"?',
  ],
  "a misspelled label of failover with a value": [
    locality(["topology.istio.io/netwrok=a"]),
    "MESH0042",
    '"topology.istio.io/netwrok=a"',
    'did you mean "topology.istio.io/network"?',
  ],
  "a label of failover with a misspelled domain": [
    locality(["topology.kubernets.io/zone"]),
    "MESH0042",
    '"topology.kubernets.io/zone"',
    'did you mean "topology.kubernetes.io/zone"?',
  ],
  "a label of failover in the domain of another one": [
    locality(["topology.kubernetes.io/subzone"]),
    "MESH0042",
    '"topology.kubernetes.io/subzone"',
    'did you mean "topology.istio.io/subzone"?',
  ],
  "a host outside of the mesh with workloads that require mutual TLS": [
    strict() + outside(),
    "MESH0017",
    '"spec": {',
    "location is MESH_EXTERNAL, so that plaintext is sent, which Deployment shop/ratings rejects: its PeerAuthentication is STRICT",
  ],
  "a misspelled class of an Ingress": [
    ingress("istoi"),
    "MESH0042",
    '"ingressClassName": "istoi",',
    'the Ingress is not served by this istiod: its class is "istoi"; did you mean "istio"?',
  ],
  "a misspelled class in the annotation of an Ingress": [
    ingress(undefined, { "kubernetes.io/ingress.class": "isto" }),
    "MESH0042",
    '"kubernetes.io/ingress.class": "isto"',
    'the Ingress is not served by this istiod: its class is "isto"; did you mean "istio"?',
  ],
  "an asterisk within a principal": [
    policy({ from: [{ source: { principals: ["cluster.local/ns/*/sa/shop-reviews"] } }] }),
    "MESH0014",
    '"cluster.local/ns/*/sa/shop-reviews"',
    "whose * within the text only matches an asterisk, expected * at the beginning or the end",
  ],
  "an asterisk within a principal of tokens": [
    policy({ from: [{ source: { requestPrincipals: ["https://*.example/alice"] } }] }),
    "MESH0014",
    '"https://*.example/alice"',
    "whose * within the text only matches an asterisk",
  ],
  "an asterisk within a host of a policy": [
    policy({ to: [{ operation: { hosts: ["api.*.example"] } }] }),
    "MESH0014",
    '"api.*.example"',
    "whose * within the text only matches an asterisk",
  ],
  "a provider that does not authorize": [
    o("AuthorizationPolicy", { action: "CUSTOM", provider: { name: "envoy" }, rules: [{}] }),
    "MESH0008",
    '"name": "envoy"',
    'provider "envoy" is of kind envoyFileAccessLog, which authorizes no request, and denies every request',
  ],
  "retries on statuses without statuses": [
    retried("retriable-status-codes"),
    "MESH0042",
    '"retryOn": "retriable-status-codes"',
    "has retriable-status-codes, which has no effect without statuses",
  ],
  "retries on headers": [
    retried("5xx,retriable-headers"),
    "MESH0042",
    '"retryOn": "5xx,retriable-headers"',
    "has retriable-headers, which has no effect: a VirtualService names no headers",
  ],
  "a hash of a header with a space": [
    trafficPolicy({ loadBalancer: { consistentHash: { httpHeaderName: "x-user id" } } }),
    "MESH0014",
    '"httpHeaderName": "x-user id"',
    "and no header has this name, so that requests have no hash",
  ],
  "settings of a port twice": [
    trafficPolicy({ portLevelSettings: [ofPort(random), ofPort({ loadBalancer: { simple: "ROUND_ROBIN" } })] }),
    "MESH0042",
    "{",
    "have no effect: portLevelSettings[0] are for port 9080, too",
  ],
  "settings of a port that drop TLS": [
    originated(ofPort(random, 80)),
    "MESH0047",
    "{",
    "have no tls, and inherit nothing of trafficPolicy, so that requests to port 80 are sent without this TLS, expected also tls",
  ],
  "outlier detection that no port inherits": [
    trafficPolicy({ outlierDetection: { consecutive5xxErrors: 3 }, portLevelSettings: [ofPort(random)] }),
    "MESH0042",
    '"outlierDetection": {',
    "has no effect: each port of the host has portLevelSettings, which do not inherit it",
  ],
  "own certificates with mutual TLS of the mesh": [
    trafficPolicy({ tls: { mode: "ISTIO_MUTUAL", caCertificates: "/etc/ca.pem" } }),
    "MESH0042",
    '"caCertificates": "/etc/ca.pem"',
    "has no effect in mode ISTIO_MUTUAL, which uses the certificates of the mesh",
  ],
  "a variable of nginx in a header": [
    routed({ headers: { request: { set: { "x-client": "$remote_addr" } } } }),
    "MESH0077",
    '"x-client": "$remote_addr"',
    'which is sent as it is: proxies do not know variables of nginx, expected "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"',
  ],
  "a variable of nginx for a header, behind a word that begins like one": [
    routed({ headers: { request: { set: { "x-client": "$hosting/$http_user" } } } }),
    "MESH0077",
    '"x-client": "$hosting/$http_user"',
    'has "$http_", which is sent as it is: proxies do not know variables of nginx, expected "%REQ(NAME)%"',
  ],
  "a VirtualService for a Gateway of the Gateway API": [
    o("Gateway", { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] }) +
      o("VirtualService", { hosts: ["a.example"], gateways: ["a"], http: [{ route }] }),
    "MESH0042",
    '"a"',
    "it is a Gateway of the Gateway API, to which VirtualServices do not attach; write an HTTPRoute",
  ],
  "a pull secret for a module of a server": [
    documentOf({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s", namespace: "shop" },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": "e30=" },
    }) + o("WasmPlugin", { url: "https://a.example/x.wasm", imagePullSecret: "s" }),
    "MESH0042",
    '"imagePullSecret": "s"',
    "has no effect: only images of registries are pulled with it, and url is https://",
  ],
  "a module's file with a relative path": [
    o("WasmPlugin", { url: "file://opt/x.wasm" }),
    "MESH0077",
    '"url": "file://opt/x.wasm"',
    'whose path is not absolute, expected "file:///opt/x.wasm"',
  ],
  "spaces around an issuer": [
    tokens({ issuer: "https://issuer.example " }),
    "MESH0014",
    '"issuer": "https://issuer.example ",',
    'and no token has an issuer with spaces around it, expected "https://issuer.example"',
  ],
  "spaces around an audience": [
    tokens({ audiences: [" shop"] }),
    "MESH0014",
    '" shop"',
    'and no token has an audience with spaces around it, expected "shop"',
  ],
  "the metadata of a provider in place of its keys": [
    keysAt("https://issuer.example/.well-known/openid-configuration"),
    "MESH0014",
    '"jwksUri": "https://issuer.example/.well-known/openid-configuration"',
    "the metadata of the provider, which has no keys, so that every token is rejected",
  ],
  "keys at a Service that does not exist": [
    keysAt("http://ratngs.shop.svc:8080/keys"),
    "IST0101",
    '"jwksUri": "http://ratngs.shop.svc:8080/keys"',
    'referenced Service shop/ratngs not found, so that keys cannot be fetched; did you mean "ratings"?',
  ],
  "an application at a port of the sidecar": [
    deployment("other", { ports: [{ containerPort: 15001 }] }),
    "MESH0047",
    '"containers": [',
    "declares port 15001, at which the sidecar listens for outbound connections",
  ],
  "an application at a port of the sidecar, with settings of others": [
    deployment(
      "other",
      { ports: [{ containerPort: 15000 }] },
      { annotations: { "inject.istio.io/templates": "sidecar", "proxy.istio.io/config": "{statusPort: 15999}" } },
    ),
    "MESH0047",
    '"containers": [',
    "declares port 15000, at which the sidecar listens for administration",
  ],
  "a host outside of the mesh with workloads that require mutual TLS, at a port other than those left out": [
    strict() +
      deployment("legacy", undefined, { annotations: { "traffic.sidecar.istio.io/excludeInboundPorts": "80, 9081" } }) +
      outside({ workloadSelector: { labels: { app: "legacy" } } }),
    "MESH0017",
    '"spec": {',
    "which Deployment shop/legacy rejects: its PeerAuthentication is STRICT",
  ],
  "identities that the workload with replicas does not have": [
    o("Service", { selector: { tier: "data" }, ports: [{ name: "http", port: 80 }] }, { name: "data" }) +
      tiered("old", { replicas: 0 }) +
      tiered("new", { replicas: 1 }) +
      trafficPolicy(
        { tls: { mode: "ISTIO_MUTUAL", subjectAltNames: ["spiffe://cluster.local/ns/shop/sa/shop-older"] } },
        "data",
      ),
    "MESH0017",
    '"subjectAltNames": [',
    "they are spiffe://cluster.local/ns/shop/sa/shop-new, so that",
  ],
  "plaintext to workloads that require mutual TLS, at a port other than those left out": [
    strict() +
      service("legacy") +
      deployment("legacy", undefined, { annotations: { "traffic.sidecar.istio.io/excludeInboundPorts": "22" } }) +
      trafficPolicy({ tls: { mode: "DISABLE" } }, "legacy"),
    "MESH0017",
    '"tls": {',
    "tls mode DISABLE conflicts with PeerAuthentication, which is STRICT for Deployment shop/legacy",
  ],
  "a workload at the address of its clients": [
    o("WorkloadEntry", { address: "127.0.0.1", labels: { app: "ratings" } }),
    "MESH0047",
    '"address": "127.0.0.1",',
    "is 127.0.0.1, which each client takes for itself",
  ],
  "two ProxyConfigs of a namespace": [
    o("ProxyConfig", { concurrency: 1 }) + o("ProxyConfig", { concurrency: 2 }, { name: "b" }),
    "MESH0042",
    '"spec": {',
    "of the ProxyConfigs of namespace shop without a selector, only the oldest applies, a; merge the two",
  ],
};

describeMistakes(mesh, mistakes);

describe("each of these mistakes of the mesh configuration is found in it, or next to it", () => {
  const root = namespace("istio-system", "disabled");
  const tracer = (address: string): Fields => ({ defaultConfig: { tracing: { zipkin: { address } } } });
  it.each<readonly [string, Fields, string, string, string]>([
    ["standard output without its path", { accessLogFile: "stdout" }, "", "IST0133", 'expected "/dev/stdout"'],
    [
      "a root that is not PEM",
      { caCertificates: [{ pem: "abc" }] },
      "",
      "IST0133",
      "has no certificate, and is ignored",
    ],
    [
      "a misspelled variable of names of statistics",
      { inboundClusterStatName: "%SERVICE_FDQN%" },
      "",
      "IST0133",
      "has %SERVICE_FDQN%, which is not a variable and stays as it is, expected %SERVICE_FQDN%",
    ],
    [
      "a misspelled variable of names of statistics behind signs",
      { outboundClusterStatName: "100%_%SERVICE%_%SUBSET_NAM%" },
      "",
      "IST0133",
      "has %SUBSET_NAM%, which is not a variable and stays as it is, expected %SUBSET_NAME%",
    ],
    [
      "a negative number of threads",
      { defaultConfig: { concurrency: -1 } },
      "",
      "IST0133",
      "is -1, which is ignored, expected 0 or more",
    ],
    [
      "a misspelled image",
      { defaultConfig: { image: { imageType: "distroles" } } },
      "",
      "MESH0042",
      "the end of an image's tag that Istio does not publish",
    ],
    [
      "a misspelled variable of the agent",
      { defaultConfig: { proxyMetadata: { ISTIO_META_DNS_CAPTUR: "true" } } },
      "",
      "MESH0042",
      'is read by no agent and by no template of Istio; did you mean "ISTIO_META_DNS_CAPTURE"?',
    ],
    [
      "a tracer that does not exist",
      tracer("ratngs.shop:9411"),
      "",
      "MESH0005",
      "there is no Service shop/ratngs, so that no span is collected",
    ],
    [
      "selectors that leave out the root namespace",
      { discoverySelectors: [{ matchLabels: { "istio-injection": "enabled" } }] },
      root,
      "MESH0010",
      "do not select the root namespace istio-system, so that istiod reads none of its objects",
    ],
    [
      "mutual TLS that no client sends",
      { enableAutoMtls: false },
      strict(),
      "MESH0017",
      "mode STRICT rejects every request of sidecars: they send plaintext, because enableAutoMtls",
    ],
    [
      "an alias of a host that sidecars do not reach",
      { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } },
      o("Service", { type: "ExternalName", externalName: "api.example", ports: [{ name: "http", port: 80 }] }),
      "IST0101",
      'referenced host "api.example" not found, so that connections of sidecars to it are closed: outboundTrafficPolicy is REGISTRY_ONLY',
    ],
  ])("%s", (_, config, added, code, says) => {
    expect(messagesWith(config, added)).toContainEqual({ code, message: expect.stringContaining(says) as string });
  });

  it.each<readonly [string, Fields, string]>([
    ["standard output", { accessLogFile: "/dev/stdout" }, ""],
    ["variables of names of statistics", { inboundClusterStatName: "in_%SERVICE_FQDN%_%SERVICE_PORT%" }, ""],
    [
      "signs in names of statistics",
      { inboundClusterStatName: "100%_%SERVICE%", outboundClusterStatName: "a%b%SERVICE%" },
      "",
    ],
    [
      "an application at a port of administration that the mesh does not use",
      { defaultConfig: { proxyAdminPort: 14000 } },
      deployment("other", { ports: [{ containerPort: 15000 }] }),
    ],
    ["a tracer", tracer("ratings.shop:9080"), ""],
    ["a tracer of a namespace that the files lack", tracer("zipkin.istio-system:9411"), ""],
    [
      "selectors of the root namespace",
      { discoverySelectors: [{ matchExpressions: [{ key: "istio-injection", operator: "Exists" }] }] },
      root,
    ],
    [
      "mutual TLS that a DestinationRule has clients send",
      { enableAutoMtls: false },
      strict() + trafficPolicy({ tls: { mode: "ISTIO_MUTUAL" } }, "*.local"),
    ],
    [
      "mutual TLS that a DestinationRule has clients send, with certificates of files",
      { enableAutoMtls: false },
      strict() +
        trafficPolicy(
          {
            tls: {
              mode: "MUTUAL",
              clientCertificate: "/etc/certs/cert-chain.pem",
              privateKey: "/etc/certs/key.pem",
              caCertificates: "/etc/certs/root-cert.pem",
            },
          },
          "*.local",
        ),
    ],
    [
      "an alias in a namespace without sidecars",
      { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } },
      namespace("plain", "disabled") +
        o(
          "Service",
          { type: "ExternalName", externalName: "api.example", ports: [{ name: "http", port: 80 }] },
          { namespace: "plain" },
        ),
    ],
    [
      "an alias of a Service",
      { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } },
      o("Service", {
        type: "ExternalName",
        externalName: "ratings.shop.svc.cluster.local",
        ports: [{ name: "http", port: 80 }],
      }),
    ],
  ])("and nothing is said of %s", (_, config, added) => {
    expect(messagesWith(config, added)).toEqual([]);
  });

  function messagesWith(config: Fields, added: string): readonly Pick<Message, "code" | "message">[] {
    const { messages } = analyzeTexts({
      files: [{ file: "mesh.yaml", text: mesh + added }],
      meshConfig: { file: "config.yaml", text: JSON.stringify(config) },
    });
    return messages.map(({ code, message }) => ({ code, message }));
  }
});

describe("identities that no known workload has are an error only if all workloads are known", () => {
  it.each<readonly [isWholeCluster: boolean, level: string]>([
    [true, "Error"],
    [false, "Warning"],
  ])("all are known: %s", (isWholeCluster, level) => {
    const text = mesh + mutual("spiffe://cluster.local/ns/shop/sa/shop-rating");
    const { messages } = analyzeTexts({ files: [{ file: "mesh.yaml", text }], isWholeCluster });
    expect(messages.filter(({ code }) => code === "MESH0017").map((message) => message.level)).toEqual([level]);
  });
});

describe("nothing is said of what is right next to them", () => {
  it.each<readonly [string, string]>([
    ["an identity of the workloads", mutual("spiffe://cluster.local/ns/shop/sa/shop-ratings")],
    ["an identity in another trust domain", mutual("spiffe://old.example/ns/shop/sa/shop-ratings")],
    [
      "an identity among others",
      mutual("spiffe://cluster.local/ns/shop/sa/other", "spiffe://cluster.local/ns/shop/sa/shop-ratings"),
    ],
    ["names of another authority", mutual("ratings.shop.example", "spiffe://cluster.local/ns/shop/sa/other")],
    [
      "identities of workloads that come later",
      policy({
        from: [
          {
            source: {
              principals: ["cluster.local/ns/shop/sa/shop-reviews", "cluster.local/ns/shop/sa/importer"],
            },
          },
        ],
      }),
    ],
    ["a service account of the own namespace", policy({ from: [{ source: { serviceAccounts: ["shop-reviews"] } }] })],
    [
      "a service account that exists",
      documentOf({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "shop-review", namespace: "shop" } }) +
        policy({ from: [{ source: { principals: ["cluster.local/ns/shop/sa/shop-review"] } }] }),
    ],
    [
      "patterns that paths of the match have",
      rewritten([{ uri: { prefix: "/v1" } }], "^/v1/items/(.*)$") +
        o(
          "VirtualService",
          {
            hosts: ["reviews"],
            http: [
              {
                match: [{ uri: { prefix: "/a/b" } }],
                route: [{ destination: { host: "reviews" } }],
                rewrite: { uriRegexRewrite: { match: "^/(a|c)/", rewrite: "/" } },
              },
            ],
          },
          { name: "b" },
        ),
    ],
    ["a pattern for a match in any case", rewritten([{ uri: { prefix: "/API/" }, ignoreUriCase: true }], "^/api/(.*)")],
    [
      "a pattern that begins with a character's number",
      rewritten([{ uri: { prefix: "/api/" } }], "^\\x2Fapi\\x2F(.*)"),
    ],
    ["a pattern for one of two matches", rewritten([{ uri: { exact: "/a" } }, { uri: { exact: "/v1" } }], "^/v1")],
    [
      "a header that is removed and added",
      routed({ headers: { request: { add: { "x-id": "1" }, remove: ["x-id"] } } }),
    ],
    [
      "a header that is set in requests and removed from responses",
      routed({ headers: { request: { set: { "x-id": "1" } }, response: { remove: ["x-id"] } } }),
    ],
    [
      "an idle timeout below the duration of connections",
      trafficPolicy({ connectionPool: { tcp: { idleTimeout: "10m", maxConnectionDuration: "1h" } } }),
    ],
    ["labels of failover", locality(["topology.kubernetes.io/region", "topology.istio.io/cluster", "rack=a"])],
    [
      "labels of failover of one's own",
      locality([
        "topology.kubernetes.io/rack",
        "topology.kubernetes.io/node",
        "topology.istio.io/rack",
        "topology.istio.io/network-id",
        "topology.gke.io/zone",
        "region",
      ]),
    ],
    ["a host of the mesh with workloads that require mutual TLS", strict() + outside({ location: "MESH_INTERNAL" })],
    [
      "a host outside of the mesh to which clients send mutual TLS",
      strict() + outside() + trafficPolicy({ tls: { mode: "ISTIO_MUTUAL" } }, "ratings.example"),
    ],
    [
      "a host outside of the mesh at a port without mutual TLS",
      strict({
        selector: { matchLabels: { app: "ratings" } },
        mtls: { mode: "STRICT" },
        portLevelMtls: { 9080: { mode: "PERMISSIVE" } },
      }) + outside(),
    ],
    ["retries on statuses", retried("retriable-status-codes,503")],
    ["a hash of a header", trafficPolicy({ loadBalancer: { consistentHash: { httpHeaderName: "x-user" } } })],
    [
      "settings of a port with TLS of their own",
      originated(ofPort({ ...random, tls: { mode: "SIMPLE", caCertificates: "system" } }, 80)),
    ],
    [
      "outlier detection that the settings of the port have, too",
      trafficPolicy({
        outlierDetection: { consecutive5xxErrors: 3 },
        portLevelSettings: [ofPort({ ...random, outlierDetection: { consecutive5xxErrors: 3 } })],
      }),
    ],
    ["a price in a header", routed({ headers: { request: { set: { "x-price": "$5" } } } })],
    [
      "words that begin like variables of nginx in a header",
      routed({ headers: { request: { set: { "x-a": "$hosting", "x-b": "$request_identity $schemes" } } } }),
    ],
    ["a module's file", o("WasmPlugin", { url: "file:///opt/x.wasm" })],
    ["a header in a log's filter", logged("request.headers['x-user'] == 'A'")],
    ["a header in upper case in a log's filter", logged("request.headers['X-User'] == 'a'")],
    ["a header of responses in upper case in a log's filter", logged("response.headers['X-Error'] != ''")],
    ["keys at a Service", keysAt("http://ratings.shop.svc:9080/keys")],
    [
      "an application at a port of the sidecar, in the network of its node",
      deployment("other", { ports: [{ containerPort: 15020 }] }, { template: { hostNetwork: true } }),
    ],
    [
      "a host outside of the mesh with workloads in the network of their node",
      strict() +
        deployment("agent", undefined, { template: { hostNetwork: true } }) +
        outside({ workloadSelector: { labels: { app: "agent" } } }),
    ],
    ...Object.entries<readonly [port: number, annotations: Fields]>({
      "a template without Envoy": [15000, { "inject.istio.io/templates": "grpc-agent" }],
      "another port of administration": [15000, { "proxy.istio.io/config": "proxyAdminPort: 14000" }],
      "another status port": [15020, { "proxy.istio.io/config": "{statusPort: 14020}" }],
      "the annotation of the status port": [15020, { "status.sidecar.istio.io/port": "14020" }],
      "no interception": [15006, { "sidecar.istio.io/interceptionMode": "NONE" }],
    }).map(([what, [containerPort, annotations]]): readonly [string, string] => [
      `an application at a port of the sidecar, with ${what}`,
      deployment("other", { ports: [{ containerPort }] }, { annotations }),
    ]),
    ...Object.entries<Fields>({
      "that are left out": { "traffic.sidecar.istio.io/excludeInboundPorts": "22, 9080" },
      "that are not among those of the sidecar": { "traffic.sidecar.istio.io/includeInboundPorts": "80,8080" },
    }).map(([what, annotations]): readonly [string, string] => [
      `a host outside of the mesh at ports ${what}`,
      strict() +
        deployment("legacy", undefined, { annotations }) +
        outside({ workloadSelector: { labels: { app: "legacy" } } }),
    ]),
    ...Object.entries<Parameters<typeof deployment>[2]>({
      "at a port that is left out": { annotations: { "traffic.sidecar.istio.io/excludeInboundPorts": "9080" } },
      "without a sidecar": { labels: { "sidecar.istio.io/inject": "false" } },
      "in the network of their node": { template: { hostNetwork: true } },
    }).map(([what, template]): readonly [string, string] => [
      `plaintext to workloads ${what}`,
      strict() +
        service("legacy") +
        deployment("legacy", undefined, template) +
        trafficPolicy({ tls: { mode: "DISABLE" } }, "legacy"),
    ]),
    ["keys at a pod of a headless Service", keysAt("http://ratings-0.ratings.shop.svc.cluster.local:9080/keys")],
    ["keys at a Service that the files lack", keysAt("http://keycloak.shop.svc:8080/keys")],
    ["keys at a Service of another namespace", keysAt("http://ratngs.auth.svc.cluster.local:8080/keys")],
    [
      "an identity of workloads that come later",
      o("Service", { selector: { tier: "data" }, ports: [{ name: "http", port: 80 }] }, { name: "data" }) +
        tiered("old", { replicas: 0 }) +
        tiered("new", { replicas: 1 }) +
        trafficPolicy(
          { tls: { mode: "ISTIO_MUTUAL", subjectAltNames: ["spiffe://cluster.local/ns/shop/sa/shop-old"] } },
          "data",
        ),
    ],
    [
      "identities of a host whose only workload has no replicas",
      o("Service", { selector: { tier: "data" }, ports: [{ name: "http", port: 80 }] }, { name: "data" }) +
        tiered("old", { replicas: 0 }) +
        trafficPolicy(
          { tls: { mode: "ISTIO_MUTUAL", subjectAltNames: ["spiffe://cluster.local/ns/shop/sa/rollout"] } },
          "data",
        ),
    ],
    ...["istio2", "istio-1", "istio-b"].map((name): readonly [string, string] => [
      `an Ingress of another control plane, ${name}`,
      ingress(name) + ingress(undefined, { "kubernetes.io/ingress.class": name }).replace('"name": "a"', '"name": "b"'),
    ]),
    ["an application at other ports", deployment("other", { ports: [{ containerPort: 15443 }] })],
    ["an Ingress of another class", ingress("nginx")],
    ["an Ingress of a class that comes later", ingress("traefik")],
  ])("%s", (_, documents) => {
    expect(analyzeAdded(mesh, documents)).toEqual([]);
  });
});

it("an idle timeout is not compared with a duration of connections that is rejected", () => {
  const rejected = trafficPolicy({ connectionPool: { tcp: { idleTimeout: "1h", maxConnectionDuration: "0s" } } });
  expect(analyzeAdded(mesh, rejected).map(({ code, message }) => `${code} ${message}`)).toEqual([
    "IST0106 trafficPolicy.connectionPool.tcp.maxConnectionDuration: is 0s, expected at least 1ms",
  ]);
});
