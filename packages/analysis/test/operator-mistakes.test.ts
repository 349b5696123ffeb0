import { describe, expect, it } from "vitest";
import { describeMistakes, type Mistake } from "./found-mistakes.js";
import { analyzeAdded } from "./messages-of.js";
import { documentOf, type Fields, objectWriter } from "./mistake-objects.js";

const gatewayApi = "gateway.networking.k8s.io/v1";
const o = objectWriter({
  Service: "v1",
  PeerAuthentication: "security.istio.io/v1",
  AuthorizationPolicy: "security.istio.io/v1",
  HTTPRoute: gatewayApi,
  Ingress: "networking.k8s.io/v1",
});

const namespace = (name: string, injection: string): string =>
  documentOf({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { "istio-injection": injection } } });
const service = (name: string): string =>
  o("Service", { selector: { app: name }, ports: [{ name: "http", port: 9080 }] }, { name });
const deployment = (app: string): string =>
  documentOf({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: app, namespace: "shop" },
    spec: {
      selector: { matchLabels: { app } },
      template: {
        metadata: { labels: { app } },
        spec: { serviceAccountName: `shop-${app}`, containers: [{ name: "app", image: "app" }] },
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
    'the Ingress is not served: there is no IngressClass istoi; did you mean "istio"?',
  ],
  "a misspelled class in the annotation of an Ingress": [
    ingress(undefined, { "kubernetes.io/ingress.class": "isto" }),
    "MESH0042",
    '"kubernetes.io/ingress.class": "isto"',
    'the Ingress is not served: there is no IngressClass isto; did you mean "istio"?',
  ],
};

describeMistakes(mesh, mistakes);

describe("nothing is said of what is right beside them", () => {
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
    ["an Ingress of another class", ingress("nginx")],
    ["an Ingress of a class that comes later", ingress("traefik")],
  ])("%s", (_, documents) => {
    expect(analyzeAdded(mesh, documents)).toEqual([]);
  });
});
