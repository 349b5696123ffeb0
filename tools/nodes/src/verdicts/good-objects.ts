import { NAMESPACE, networking, object, security, type VerdictCase } from "./case.js";

const live = (name: string, applied: VerdictCase["object"], words = "live on "): VerdictCase => ({
  name,
  object: applied,
  verdict: "live",
  words,
});

const details = { selector: { matchLabels: { app: "details" } } };

/** A public key for tokens that nobody issues. */
const jwks = JSON.stringify({
  keys: [
    {
      kty: "EC",
      crv: "P-256",
      kid: "one",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    },
  ],
});

/** Objects of each kind that have their effect. */
export const goodObjects: readonly VerdictCase[] = [
  live(
    "a timeout for a service",
    networking("VirtualService", {
      hosts: ["details"],
      http: [{ timeout: "3s", route: [{ destination: { host: "details" } }] }],
    }),
  ),
  live(
    "a limit of connections",
    networking("DestinationRule", {
      host: "details",
      trafficPolicy: { connectionPool: { tcp: { maxConnections: 50 } } },
    }),
  ),
  live(
    "a redirect to HTTPS for a host",
    networking("Gateway", {
      selector: { istio: "ingressgateway" },
      servers: [
        {
          port: { number: 80, name: "http-shop", protocol: "HTTP" },
          hosts: ["shop.example.com"],
          tls: { httpsRedirect: true },
        },
      ],
    }),
  ),
  live(
    "an external service",
    networking("ServiceEntry", {
      hosts: ["api.example.com"],
      location: "MESH_EXTERNAL",
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      endpoints: [{ address: "192.0.2.1" }],
    }),
  ),
  live(
    "a Sidecar that narrows what a service imports",
    networking("Sidecar", {
      workloadSelector: { labels: { app: "ratings" } },
      egress: [{ hosts: ["./details.bookinfo.svc.cluster.local"] }],
    }),
  ),
  live(
    "an endpoint outside of the cluster",
    networking("WorkloadEntry", { address: "192.0.2.2", labels: { app: "ratings" } }),
  ),
  live(
    "a WorkloadGroup",
    networking("WorkloadGroup", { metadata: { labels: { app: "vm" } }, template: { serviceAccount: "default" } }),
    "WorkloadGroup",
  ),
  live("a ProxyConfig", object("networking.istio.io/v1beta1", "ProxyConfig", { concurrency: 1 }), "ProxyConfig"),
  live(
    "a policy that allows one caller",
    security("AuthorizationPolicy", {
      ...details,
      rules: [{ from: [{ source: { principals: ["cluster.local/ns/bookinfo/sa/bookinfo-productpage"] } }] }],
    }),
  ),
  live("plaintext for one workload", security("PeerAuthentication", { ...details, mtls: { mode: "PERMISSIVE" } })),
  live(
    "tokens of an issuer",
    security("RequestAuthentication", { ...details, jwtRules: [{ issuer: "https://issuer.example.com", jwks }] }),
  ),
  live(
    "no access log for a service",
    object("telemetry.istio.io/v1", "Telemetry", {
      ...details,
      accessLogging: [{ providers: [{ name: "envoy" }], disabled: true }],
    }),
  ),
  live(
    "a Service of one version",
    object("v1", "Service", { selector: { app: "reviews", version: "v2" }, ports: [{ name: "http", port: 9080 }] }),
  ),
  live("a route at the ingress gateway", {
    ...object("networking.k8s.io/v1", "Ingress", {
      rules: [
        {
          host: "shop.example.com",
          http: {
            paths: [
              { path: "/", pathType: "Prefix", backend: { service: { name: "details", port: { number: 9080 } } } },
            ],
          },
        },
      ],
    }),
    metadata: { name: "verdict", namespace: NAMESPACE, annotations: { "kubernetes.io/ingress.class": "istio" } },
  }),
];
