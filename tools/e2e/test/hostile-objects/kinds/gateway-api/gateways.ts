import fc from "fast-check";
import { from, list, numbers, some, texts } from "../../values.js";
import { type Manifest, metadata, object } from "../manifest.js";
import { goDurations, group, hostnames, objectNames, portNumbers, sectionNames } from "./values.js";

const reference = some(
  {
    group: from("", "x"),
    kind: from("Secret", "ConfigMap"),
    name: objectNames,
    namespace: from("shop", "istio-system"),
  },
  ["name"],
);
const listener = some(
  {
    name: sectionNames,
    hostname: hostnames,
    port: fc.oneof(from(80, 443, 9000), portNumbers),
    protocol: fc.oneof(
      { weight: 5, arbitrary: from("HTTP", "HTTPS", "TLS", "TCP") },
      from("HBONE", "UDP", "http", "example.com/x", "x".repeat(300)),
    ),
    tls: some({
      mode: from("Terminate", "Passthrough"),
      certificateRefs: list(reference, 3),
      options: fc.dictionary(
        from(
          "gateway.istio.io/tls-terminate-mode",
          "gateway.istio.io/tls-cipher-suites",
          "gateway.istio.io/listener-protocol",
        ),
        fc.oneof(
          from("MUTUAL", "OPTIONAL_MUTUAL", "ISTIO_MUTUAL", "ISTIO_SIMPLE", "auto-passthrough"),
          from("AES128-SHA", "x,AES128-SHA", "[", "!ALL", "ALL:@x", ",,"),
          texts,
        ),
        { maxKeys: 2 },
      ),
    }),
    allowedRoutes: fc.constant({ namespaces: { from: "All" } }),
  },
  ["name", "port", "protocol", "tls", "allowedRoutes"],
);
const listeners = list(listener, 3).map((all) =>
  all.map((each, n) => ({ ...each, name: `${String(each["name"])}-${n}` })),
);
const front = fc.record({ name: from("front-2", "a"), namespace: fc.constant("istio-system") });

/** Gateways of the tested proxy, and others. */
const gateway = fc
  .record({
    metadata: front,
    listeners,
    frontend: some({
      default: some({
        validation: some({ caCertificateRefs: list(reference), mode: from("AllowValidOnly", "AllowInsecureFallback") }),
      }),
      perPort: list(
        fc.record({ port: portNumbers, tls: some({ validation: some({ caCertificateRefs: list(reference) }) }) }),
      ),
    }),
    hasFrontend: fc.boolean(),
  })
  .map(({ metadata: named, listeners: all, frontend, hasFrontend }): Manifest => ({
    apiVersion: group,
    kind: "Gateway",
    metadata: named,
    spec: {
      gatewayClassName: "istio",
      addresses: [{ type: "Hostname", value: "ingress.istio-system.svc.cluster.local" }],
      listeners: all,
      ...(hasFrontend && { tls: { frontend } }),
    },
  }));
const listenerSet = object(
  group,
  "ListenerSet",
  fc.record({ parentRef: from({ name: "front", namespace: "istio-system" }, { name: "front" }), listeners }),
);

const validation = some(
  {
    hostname: hostnames,
    wellKnownCACertificates: from("System", "x"),
    caCertificateRefs: list(
      fc.record({ group: from("", "x"), kind: from("ConfigMap", "Secret"), name: objectNames }),
      2,
    ),
    subjectAltNames: list(
      fc.oneof(
        hostnames.map((hostname) => ({ type: "Hostname", hostname })),
        texts.map((uri) => ({ type: "URI", uri })),
      ),
      3,
    ),
  },
  ["hostname"],
);
const target = fc.oneof(
  { weight: 4, arbitrary: from({ group: "", kind: "Service", name: "cart" }) },
  fc.record({ group: from("", "networking.istio.io"), kind: from("Service", "ServiceEntry"), name: objectNames }),
);
const inShop = fc.record({ name: from("a", "b"), namespace: fc.constant("shop") });
const policy = (apiVersion: string, kind: string, spec: fc.Arbitrary<unknown>): fc.Arbitrary<Manifest> =>
  fc
    .record({ metadata: fc.oneof({ weight: 4, arbitrary: inShop }, metadata), spec })
    .map((fields) => ({ apiVersion, kind, ...fields }));
const backendTlsPolicy = policy(
  group,
  "BackendTLSPolicy",
  fc.record({
    targetRefs: list(
      fc
        .tuple(target, some({ sectionName: from("http", "tls", "x y") }))
        .map(([ref, section]) => ({ ...ref, ...section })),
      2,
    ),
    validation,
  }),
);
const trafficPolicy = policy(
  "gateway.networking.x-k8s.io/v1alpha1",
  "XBackendTrafficPolicy",
  fc.record({
    targetRefs: list(target, 2),
    retryConstraint: some({
      budget: some({ percent: fc.oneof(from(0, 1, 100), numbers), interval: goDurations }),
      minRetryRate: some({ count: fc.oneof(from(1, 1_000_000), numbers), interval: goDurations }),
    }),
  }),
);
const backend = policy(
  "gateway.networking.x-k8s.io/v1alpha1",
  "XBackend",
  some(
    {
      type: from("ExternalHostname", "EndpointSelector"),
      port: fc.record({ number: portNumbers }),
      protocol: fc.oneof(from("HTTP", "H2C", "TCP", "HTTPS"), texts),
      externalHostname: fc.record({ hostname: hostnames }),
      tls: some({ mode: from("None", "ServerOnly", "ClientAndServer", "x"), validation }),
    },
    ["type", "port", "externalHostname"],
  ),
);
const pool = policy(
  "inference.networking.k8s.io/v1",
  "InferencePool",
  fc.record({
    selector: from({ matchLabels: { app: "cart" } }, { matchLabels: {} }),
    targetPorts: fc.oneof(
      { weight: 9, arbitrary: list(fc.record({ number: portNumbers }), 3) },
      fc.constant(Array.from({ length: 20_000 }, (_, n) => ({ number: n + 1 }))),
    ),
    appProtocol: fc.oneof(from("http", "kubernetes.io/h2c"), texts),
    endpointPickerRef: some(
      {
        name: objectNames,
        group: from("", "x"),
        kind: from("Service"),
        port: fc.record({ number: portNumbers }),
        failureMode: from("FailOpen", "FailClose", "x"),
      },
      ["name", "port"],
    ),
  }),
);

export const gatewayApiObject = fc.oneof(
  { weight: 3, arbitrary: gateway },
  { weight: 3, arbitrary: listenerSet },
  { weight: 3, arbitrary: backendTlsPolicy },
  { weight: 2, arbitrary: trafficPolicy },
  { weight: 2, arbitrary: backend },
  { weight: 2, arbitrary: pool },
);
