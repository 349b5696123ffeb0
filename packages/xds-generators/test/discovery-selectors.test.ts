import { mint, type Minted } from "@istiod/ca/testing";
import type { JsonValue } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { generators, lookups } from "../src/index.js";
import { TestMesh, type ProxyOptions } from "./mesh.js";

const proxies: readonly ProxyOptions[] = [
  { namespace: "shop", ip: "10.1.0.1", labels: { app: "web" } },
  { namespace: "pay", ip: "10.1.0.2", name: "bill", labels: { app: "bill" } },
  { namespace: "istio-system", type: "router", ip: "10.1.0.3", name: "edge", labels: { app: "edge", istio: "edge" } },
];

const text = (value: string): string => Buffer.from(value).toString("base64");

/** Returns a certificate whose base64 does not contain the placeholder for namespaces. */
async function pairWithoutPlaceholder(): Promise<Minted> {
  const minted = await mint({});
  const hasPlaceholder = [minted.pem, minted.keyPem].some((pem) => text(pem).includes("NS"));
  return hasPlaceholder ? pairWithoutPlaceholder() : minted;
}

const pair = await pairWithoutPlaceholder();
const networking = "networking.istio.io/v1";
const security = "security.istio.io/v1";
const object = (
  apiVersion: string,
  kind: string,
  name: string,
  rest: Record<string, JsonValue>,
): ((namespace: string) => string) => {
  const { labels = {}, ...body } = rest;
  return (namespace) =>
    `---\n${JSON.stringify({ apiVersion, kind, metadata: { name, namespace, labels }, ...body }).replaceAll("NS", namespace)}\n`;
};

/** Objects of every namespaced kind that a proxy's resources are built from. */
const kinds: Readonly<Record<string, (namespace: string) => string>> = {
  Service: object("v1", "Service", "bill", {
    spec: { clusterIP: "10.96.0.1", selector: { app: "bill" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  }),
  EndpointSlice: object("discovery.k8s.io/v1", "EndpointSlice", "bill-1", {
    labels: { "kubernetes.io/service-name": "bill" },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: [
      {
        addresses: ["10.1.0.2"],
        conditions: { ready: true },
        targetRef: { kind: "Pod", name: "bill", namespace: "NS" },
      },
    ],
  }),
  Pod: object("v1", "Pod", "bill", {
    labels: { app: "bill", "security.istio.io/tlsMode": "istio" },
    spec: {
      serviceAccountName: "billing",
      containers: [{ name: "bill", ports: [{ name: "http", containerPort: 8080 }] }],
    },
    status: {
      phase: "Running",
      podIP: "10.1.0.2",
      podIPs: [{ ip: "10.1.0.2" }],
      conditions: [{ type: "Ready", status: "True" }],
    },
  }),
  ServiceEntry: object(networking, "ServiceEntry", "bank", {
    spec: {
      hosts: ["bank-of-NS.example.org"],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: 81, name: "http", protocol: "HTTP" }],
      workloadSelector: { labels: { app: "vault" } },
    },
  }),
  WorkloadEntry: object(networking, "WorkloadEntry", "vault", {
    spec: { address: "10.9.0.1", labels: { app: "vault" } },
  }),
  VirtualService: object(networking, "VirtualService", "bill", {
    spec: {
      hosts: ["bill.pay.svc.cluster.local"],
      gateways: ["mesh", "istio-system/edge"],
      http: [{ timeout: "3s", route: [{ destination: { host: "bill.pay.svc.cluster.local" } }] }],
    },
  }),
  DestinationRule: object(networking, "DestinationRule", "bill", {
    spec: { host: "bill.pay.svc.cluster.local", trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } } },
  }),
  Gateway: object(networking, "Gateway", "edge", {
    spec: {
      selector: { app: "edge" },
      servers: [
        { port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["*"] },
        {
          port: { number: 8443, name: "https", protocol: "HTTPS" },
          hosts: ["NS.example.org"],
          tls: { mode: "SIMPLE", credentialName: "cert" },
        },
      ],
    },
  }),
  Secret: object("v1", "Secret", "cert", {
    type: "kubernetes.io/tls",
    data: { "tls.key": text(pair.keyPem), "tls.crt": text(pair.pem) },
  }),
  Ingress: object("networking.k8s.io/v1", "Ingress", "way-in", {
    spec: {
      ingressClassName: "istio",
      rules: [
        {
          host: "in.NS.example.org",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "bill", port: { number: 80 } } } }],
          },
        },
      ],
    },
  }),
  Sidecar: object(networking, "Sidecar", "narrow", { spec: { egress: [{ hosts: ["NS/*"] }] } }),
  PeerAuthentication: object(security, "PeerAuthentication", "strict", { spec: { mtls: { mode: "STRICT" } } }),
  RequestAuthentication: object(security, "RequestAuthentication", "tokens", {
    spec: { jwtRules: [{ issuer: "NS", jwks: '{"keys":[{"kty":"oct","k":"AAAA"}]}' }] },
  }),
  AuthorizationPolicy: object(security, "AuthorizationPolicy", "deny", {
    spec: { action: "DENY", rules: [{ to: [{ operation: { ports: ["99"] } }] }] },
  }),
  Telemetry: object("telemetry.istio.io/v1", "Telemetry", "logs", {
    spec: { accessLogging: [{ providers: [{ name: "envoy" }] }] },
  }),
};

/** Objects without a namespace, and the Pod of the gateway, which may have the secret. */
const everywhere =
  "---\n{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: istio}, spec: {controller: istio.io/ingress-controller}}\n" +
  object("v1", "Pod", "edge", {
    labels: { app: "edge", istio: "edge" },
    status: { phase: "Running", podIPs: [{ ip: "10.1.0.3" }] },
  })("istio-system");
const spaces = ["shop", "pay", "istio-system"];
const selectors = [
  { matchLabels: { mesh: "on" } },
  { matchExpressions: [{ key: "mesh", operator: "In", values: ["too"] }] },
];
const config = (discoverySelectors: JsonValue[] = []): JsonValue => ({
  ingressControllerMode: "STRICT",
  ingressSelector: "edge",
  ingressService: "edge",
  discoverySelectors,
});
const namespace = (name: string, mesh = ""): string =>
  `---\n{apiVersion: v1, kind: Namespace, metadata: {name: ${name}, labels: ${mesh === "" ? "{}" : `{mesh: '${mesh}'}`}}}\n`;
const namespaced = (name: string, without = ""): string =>
  Object.entries(kinds)
    .filter(([kind]) => kind !== without)
    .map(([, yaml]) => yaml(name))
    .join("");

const secretType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

/**
 * All resources of the proxies, and a secret that one requests, by name and version, which is a hash of the content.
 */
function everything(mesh: TestMesh): JsonValue {
  return proxies.map((options) => {
    const view = mesh.db.view({
      ...mesh.proxy(options).view.client,
      verifiedIdentity: { namespace: options.namespace ?? "", serviceAccount: "default" },
    });
    try {
      const sets = Object.entries(generators).map(([type, generator]) => [
        type,
        [...view.call(generator)].map(({ name, version }) => [name, version]),
      ]);
      return [...sets, view.call(lookups[secretType]!, "kubernetes://cert")?.version];
    } finally {
      view.release();
    }
  }) as JsonValue;
}

describe("objects in a namespace that no discovery selector matches", () => {
  test("have no effect, whatever their kind, until the Namespace gets the label, and again after it loses it", () => {
    for (const kind of Object.keys(kinds)) {
      const others = everywhere + namespaced("pay", kind) + namespaced("istio-system", kind);
      const labelled = namespace("istio-system", "on") + namespace("pay", "too");
      const mesh = new TestMesh(others + labelled, config(selectors));
      const without = everything(mesh);
      mesh.apply(kinds[kind]!("istio-system"));
      const present = everything(mesh);
      expect(present, `${kind} has an effect where it is discovered`).not.toEqual(without);
      mesh.apply(namespace("istio-system"));
      expect(everything(mesh)).not.toEqual(present);
      mesh.apply(namespace("istio-system", "too"));
      expect(everything(mesh)).toEqual(present);
    }
  });

  test("are ignored, also without a Namespace object and in the root namespace", () => {
    const yaml = everywhere + spaces.map((name) => namespaced(name)).join("");
    const none = new TestMesh(everywhere, config(selectors));
    expect(everything(new TestMesh(yaml, config(selectors)))).toEqual(everything(none));
    expect(
      everything(new TestMesh(yaml + spaces.map((name) => namespace(name, "off")).join(""), config(selectors))),
    ).toEqual(everything(none));
    expect(everything(new TestMesh(yaml, config()))).not.toEqual(everything(none));
  });

  test("behave as if absent, through all changes of labels and selectors", () => {
    const label = fc.constantFrom("", "on", "too", "off");
    const step = fc.oneof(
      fc.record({ space: fc.constantFrom(...spaces), label }),
      fc.record({
        space: fc.constantFrom(...spaces),
        kind: fc.constantFrom(...Object.keys(kinds)),
        gone: fc.boolean(),
      }),
      fc.record({ selectors: fc.subarray(selectors) }),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
        const labels = new Map(spaces.map((name) => [name, "on"]));
        const absent = new Set<string>();
        let chosen: typeof selectors = selectors;
        const mesh = new TestMesh(
          everywhere + spaces.map((name) => namespaced(name) + namespace(name, "on")).join(""),
          config(chosen as JsonValue[]),
        );
        for (const one of steps) {
          if ("label" in one) {
            labels.set(one.space, one.label);
            mesh.apply(namespace(one.space, one.label));
          } else if ("selectors" in one) {
            chosen = one.selectors;
            mesh.configure(config(chosen as JsonValue[]));
          } else {
            const yaml = kinds[one.kind]!(one.space);
            if (one.gone) mesh.remove(yaml);
            else mesh.apply(yaml);
            absent[one.gone ? "add" : "delete"](`${one.space} ${one.kind}`);
          }
          const selected = (name: string): boolean =>
            chosen.length === 0 ||
            (labels.get(name) === "on" && chosen.includes(selectors[0]!)) ||
            (labels.get(name) === "too" && chosen.includes(selectors[1]!));
          const seen = spaces.filter(selected).flatMap((name) =>
            Object.keys(kinds)
              .filter((kind) => !absent.has(`${name} ${kind}`))
              .map((kind) => kinds[kind]!(name)),
          );
          expect(everything(mesh)).toEqual(
            everything(
              new TestMesh(
                everywhere + seen.join("") + spaces.map((name) => namespace(name, labels.get(name))).join(""),
                config(),
              ),
            ),
          );
        }
      }),
      { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 10) },
    );
  }, 120_000);
});
