import fc from "fast-check";
import { isAccepted } from "./mesh.js";
import { networking, type Manifest } from "./kinds/manifest.js";
import { collidingObject } from "./colliding-objects.js";
import { hostileObject } from "./objects.js";
import { from, list, some } from "./values.js";

/** Objects of other tenants of a shared gateway: valid, newer than the good tenants', and about their hosts. */

const hosts = from(
  "good.example.com",
  "GOOD.example.com",
  "calm.example.com",
  "pass.example.com",
  "entry.example.com",
  "*.example.com",
  "a.example.com",
  "*",
);
const services = from("cart.good.svc.cluster.local", "cart.calm.svc.cluster.local", "cart", "*.good.svc.cluster.local");
const metadata = fc.record({ name: from("edge", "web", "a"), namespace: from("evil-1", "evil-2") });
const object = (apiVersion: string, kind: string, spec: fc.Arbitrary<unknown>): fc.Arbitrary<Manifest> =>
  fc.record({ apiVersion: fc.constant(apiVersion), kind: fc.constant(kind), metadata, spec });
const destination = fc.record({ host: services, port: fc.constant({ number: 80 }) });
const route = list(fc.record({ destination }), 1);
const gateways = list(from("edge", "evil-1/edge", "istio-system/edge", "calm/edge", "mesh"), 3);

const server = fc
  .record({
    number: from(80, 443, 8443, 15_021),
    protocol: from("HTTP", "HTTP2", "HTTPS", "TLS", "TCP", "GRPC"),
    name: from("http", "https", "tls", "a"),
    hosts: list(
      fc.tuple(from("", "*/", "./", "good/"), hosts).map((parts) => parts.join("")),
      3,
    ),
    bind: from("", "", "0.0.0.0", "::", "0.0.0.1"),
    tls: some({
      mode: from("SIMPLE", "MUTUAL", "PASSTHROUGH", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL", "OPTIONAL_MUTUAL"),
      httpsRedirect: fc.boolean(),
      credentialName: from("good", "calm", "kubernetes://istio-system/good", "absent"),
      serverCertificate: fc.constant("/absent/cert.pem"),
      privateKey: fc.constant("/absent/key.pem"),
      minProtocolVersion: from("TLSV1_3", "TLSV1_0"),
      cipherSuites: list(from("ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA")),
    }),
  })
  .map(({ number, protocol, name, tls, bind, ...more }) => ({
    ...more,
    port: { number, protocol, name },
    ...(bind !== "" && { bind }),
    ...(protocol === "HTTPS" || protocol === "TLS" ? { tls } : {}),
    ...(protocol === "HTTP" && tls["httpsRedirect"] === true ? { tls: { httpsRedirect: true } } : {}),
  }));

const gateway = object(
  networking,
  "Gateway",
  fc.record({ selector: from({ istio: "ingress" }, {}), servers: list(server, 3) }),
);
const match = some({ uri: from({ prefix: "/" }, { exact: "/v1" }), port: from(80, 443) });
const virtualService = object(
  networking,
  "VirtualService",
  some(
    {
      hosts: list(hosts, 3),
      gateways,
      http: list(some({ match: list(match), route, timeout: from("1s"), redirect: from({ uri: "/x" }) })),
      tls: list(fc.record({ match: list(fc.record({ port: from(443, 8443), sniHosts: list(hosts, 2) })), route })),
      tcp: list(fc.record({ match: list(fc.record({ port: from(80, 443) })), route })),
    },
    ["hosts", "gateways"],
  ),
);
const destinationRule = object(
  networking,
  "DestinationRule",
  some(
    {
      host: services,
      trafficPolicy: from({ tls: { mode: "DISABLE" } }, { loadBalancer: { simple: "RANDOM" } }),
      subsets: list(fc.record({ name: from("v1", "v2"), labels: from({ version: "v2" }) })),
      exportTo: from(["*"]),
    },
    ["host"],
  ),
);
/**
 * Not the tenants' hosts: an Ingress takes precedence over Gateways, and its paths join those of other Ingresses, as in
 * Istio (docs/security.md).
 */
const ingressHosts = from("a.example.com", "*.example.com", "*");
const ingress = object(
  "networking.k8s.io/v1",
  "Ingress",
  fc
    .record({ host: ingressHosts, path: from("/", "/v1"), secret: from("good", "absent"), hasTls: fc.boolean() })
    .map(({ host, path, secret, hasTls }) => ({
      ingressClassName: "istio",
      ...(hasTls && { tls: [{ hosts: [host], secretName: secret }] }),
      rules: [
        {
          ...(host !== "*" && { host }),
          http: { paths: [{ path, pathType: "Prefix", backend: { service: { name: "cart", port: { number: 80 } } } }] },
        },
      ],
    })),
);
const policy = object(
  "security.istio.io/v1",
  "AuthorizationPolicy",
  fc.record({
    action: from("DENY", "ALLOW"),
    rules: from([{}]),
    selector: from({ matchLabels: { istio: "ingress" } }),
  }),
);

/** The objects of the other tests, in the tenants' namespaces. */
const others = fc
  .tuple(fc.oneof(hostileObject, collidingObject), from("evil-1", "evil-2"))
  .map(([manifest, namespace]): Manifest => ({ ...manifest, metadata: { ...manifest.metadata, namespace } }));

/** Returns the object as one that is younger than the good tenants'. */
export const young = (manifest: Manifest): Manifest => ({
  ...manifest,
  metadata: { ...manifest.metadata, creationTimestamp: "2024-01-01T00:00:00Z" },
});

/** Two to six objects of hostile tenants. */
export const hostileTenants: fc.Arbitrary<readonly Manifest[]> = fc.array(
  fc
    .oneof(
      { weight: 6, arbitrary: gateway },
      { weight: 4, arbitrary: virtualService },
      { weight: 1, arbitrary: destinationRule },
      { weight: 2, arbitrary: ingress },
      { weight: 1, arbitrary: policy },
      { weight: 4, arbitrary: others },
    )
    .map(young)
    .filter(isAccepted),
  { minLength: 2, maxLength: 6 },
);
