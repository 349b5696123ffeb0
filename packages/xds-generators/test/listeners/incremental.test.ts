import { unverifiableJwks } from "@istiod/push-context";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { istioYaml, peerAuthentication, podYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { type ProxyOptions, TestMesh } from "../mesh.js";
import { listenerType } from "./listener-parts.js";

const namespaces = ["shop", "payments", "istio-system"] as const;
const services = ["cart", "ledger", "web"] as const;
const proxies: readonly ProxyOptions[] = [
  { ip: "10.1.0.1", name: "web-10-1-0-1", labels: { app: "web" } },
  { namespace: "payments", ip: "10.1.0.9", name: "other", metadata: { HTTP_PROXY_PORT: "15007" } },
  { type: "router", namespace: "istio-system", name: "ingress", ip: "10.1.0.8", labels: { istio: "ingress" } },
];
const hostOf = (name: string, of: string): string => `${name}.${of}.svc.cluster.local`;

const namespace = fc.constantFrom(...namespaces);
const service = fc.constantFrom(...services);
const host = fc.tuple(service, namespace).map(([name, of]) => hostOf(name, of));
const selector = fc.constantFrom(undefined, { matchLabels: { app: "web" } });

function resource(apiVersion: string, kind: string, name: string, namespace: string, spec: object): string {
  return `---\n${JSON.stringify({ apiVersion, kind, metadata: { name, namespace, creationTimestamp: "2024-01-01T00:00:00Z" }, spec })}\n`;
}

const serviceObject = fc
  .tuple(
    service,
    namespace,
    fc.constantFrom(["http:80:8080"], ["tcp:80:9090"], ["auto:80"], ["tls:443", "tcp:90"]),
    fc.constantFrom("10.96.0.1", "10.96.0.2", "None"),
    fc.constantFrom({}, { "networking.istio.io/exportTo": "." }),
  )
  .map(([name, of, ports, ip, annotations]) => serviceYaml(name, { namespace: of, ports, ip, annotations }));

const podObject = fc
  .tuple(
    service,
    namespace,
    fc.constantFrom("10.1.0.1", "10.1.0.8", "10.1.0.9"),
    fc.constantFrom({ http: 8080 }, { tcp: 9090 }),
  )
  .map(([name, of, ip, ports]) => podYaml(name, ip, { namespace: of, ports }));

const entryObject = fc
  .tuple(
    namespace,
    fc.constantFrom("DNS", "NONE"),
    fc.constantFrom([], ["198.51.100.7"]),
    fc.constantFrom("TLS", "TCP", "HTTP"),
  )
  .map(([of, resolution, addresses, protocol]) =>
    serviceEntry(
      "entry",
      { hosts: ["api.example.com"], addresses, resolution, ports: [{ number: 443, name: "port", protocol }] },
      of,
    ),
  );

const virtualServiceObject = fc
  .tuple(
    namespace,
    host,
    host,
    fc.constantFrom("tcp", "tls", "http"),
    fc.constantFrom(["mesh"], ["istio-system/gateway"], ["mesh", "istio-system/gateway"]),
    fc.integer({ min: 1, max: 3 }),
  )
  .map(([of, hosted, to, kind, gateways, weight]) => {
    const match = kind === "tls" ? [{ match: [{ port: 443, sniHosts: [hosted] }] }] : [{}];
    const route = [
      { destination: { host: to }, weight },
      { destination: { host: hosted }, weight: 4 - weight },
    ];
    return istioYaml(
      "VirtualService",
      "routes",
      { hosts: [hosted], gateways, [kind]: match.map((rule) => ({ ...rule, route })) },
      of,
    );
  });

const sidecarObject = fc
  .tuple(
    namespace,
    fc.constantFrom("./*", "*/*", "shop/*"),
    fc.constantFrom({}, { port: { number: 80, name: "http", protocol: "HTTP" }, bind: "127.0.0.1" }),
    fc.constantFrom([], [{ port: { number: 9090, name: "tcp", protocol: "TCP" }, defaultEndpoint: "127.0.0.1:9091" }]),
  )
  .map(([of, hosts, listener, ingress]) =>
    istioYaml(
      "Sidecar",
      "default",
      { egress: [{ hosts: [hosts], ...listener }], ...(ingress.length > 0 && { ingress }) },
      of,
    ),
  );

const gatewayObject = fc
  .tuple(
    fc.constantFrom("gateway", "second"),
    fc.constantFrom("HTTP", "HTTPS", "TLS", "TCP"),
    fc.constantFrom(80, 443),
    fc.constantFrom("*", "a.example.com", hostOf("cart", "shop")),
  )
  .map(([name, protocol, number, hosted]) => {
    const tls = {
      HTTP: {},
      TCP: {},
      HTTPS: { tls: { mode: "SIMPLE", credentialName: "cert" } },
      TLS: { tls: { mode: "PASSTHROUGH" } },
    }[protocol];
    return istioYaml(
      "Gateway",
      name,
      {
        selector: { istio: "ingress" },
        servers: [{ port: { number, name: "port", protocol }, hosts: [hosted], ...tls }],
      },
      "istio-system",
    );
  });

const authorizationObject = fc
  .tuple(
    namespace,
    selector,
    fc.constantFrom("ALLOW", "DENY", "AUDIT"),
    fc.constantFrom({}, { to: [{ operation: { paths: ["/a"] } }] }, { to: [{ operation: { ports: ["8080"] } }] }),
  )
  .map(([of, selects, action, rule]) =>
    resource("security.istio.io/v1", "AuthorizationPolicy", "policy", of, { selector: selects, action, rules: [rule] }),
  );

const jwtObject = fc.tuple(namespace, selector, fc.constantFrom("issuer-a", "issuer-b")).map(([of, selects, issuer]) =>
  resource("security.istio.io/v1", "RequestAuthentication", "tokens", of, {
    selector: selects,
    jwtRules: [{ issuer, jwks: unverifiableJwks }],
  }),
);

const telemetryObject = fc
  .tuple(
    namespace,
    selector,
    fc.constantFrom(
      { accessLogging: [{ providers: [{ name: "envoy" }] }] },
      { metrics: [{ providers: [{ name: "prometheus" }] }] },
      { tracing: [{ randomSamplingPercentage: 5 }] },
    ),
  )
  .map(([of, selects, spec]) =>
    resource("telemetry.istio.io/v1", "Telemetry", "telemetry", of, { selector: selects, ...spec }),
  );

const peerObject = fc
  .tuple(namespace, fc.constantFrom("STRICT", "PERMISSIVE", "DISABLE"))
  .map(([of, mode]) => peerAuthentication(of, mode));

/** One object of each kind that listeners are built from. */
const object = fc.oneof(
  { weight: 4, arbitrary: serviceObject },
  { weight: 3, arbitrary: podObject },
  { weight: 3, arbitrary: virtualServiceObject },
  { weight: 2, arbitrary: gatewayObject },
  ...[entryObject, sidecarObject, authorizationObject, jwtObject, telemetryObject, peerObject].map((arbitrary) => ({
    weight: 1,
    arbitrary,
  })),
);

type Edit = (mesh: TestMesh) => void;

const edit = fc.oneof(
  {
    weight: 6,
    arbitrary: object.map(
      (yaml): Edit =>
        (mesh) =>
          void mesh.apply(yaml),
    ),
  },
  {
    weight: 2,
    arbitrary: object.map(
      (yaml): Edit =>
        (mesh) =>
          void mesh.remove(yaml),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom({}, { accessLogFile: "/dev/stdout" }, { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" as const } })
      .map(
        (config): Edit =>
          (mesh) =>
            void mesh.configure(config),
      ),
  },
);

function state(mesh: TestMesh): readonly (readonly string[])[] {
  return proxies.map((options) =>
    [...mesh.proxy(options).set(listenerType)].map(({ name, version }) => `${name} ${version}`),
  );
}

describe("listeners after random edits", () => {
  it("equal those of a mesh built from scratch", { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(
        fc.array(object, { minLength: 4, maxLength: 16 }),
        fc.array(edit, { minLength: 1, maxLength: 8 }),
        (start, edits) => {
          const mesh = new TestMesh(start.join(""));
          state(mesh);
          edits.forEach((change, i) => {
            change(mesh);
            const fresh = new TestMesh(start.join(""));
            for (const earlier of edits.slice(0, i + 1)) earlier(fresh);
            expect(state(mesh)).toEqual(state(fresh));
          });
        },
      ),
      { numRuns: 25 },
    );
  });
});
