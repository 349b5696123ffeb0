import fc from "fast-check";
import { deployed, gatewayPorts, service } from "./random-mesh.js";
import {
  GROUP,
  type MeshObject,
  namespace,
  named,
  object,
  optional,
  rare,
  some,
  unique,
  usual,
} from "./random-fields.js";

const { constantFrom, record, array, oneof } = fc;

const secrets = constantFrom("certificate", "certificate", "certificate", "absent");
const certificateRef = record({
  group: fc.constant(""),
  kind: constantFrom("Secret", "Secret", "Secret", "ConfigMap"),
  name: secrets,
  namespace: optional(namespace),
});
const certificateRefs = oneof(
  { weight: 5, arbitrary: fc.constant([{ group: "", kind: "Secret", name: "certificate" }]) },
  { weight: 2, arbitrary: some(certificateRef) },
);
const kinds = constantFrom("HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute");
const selector = constantFrom<object>(
  { matchLabels: { team: "shop" } },
  { matchLabels: { "kubernetes.io/metadata.name": "payments" } },
  { matchExpressions: [{ key: "team", operator: "In", values: ["shop", "payments"] }] },
  { matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] },
  { matchLabels: { team: "payments" }, matchExpressions: [{ key: "tier", operator: "NotIn", values: ["back"] }] },
  {},
);
const fromNamespaces = oneof<fc.WeightedArbitrary<object>[]>(
  { weight: 4, arbitrary: record({ from: constantFrom("Same", "All", "All", "All", "All") }) },
  { weight: 3, arbitrary: record({ from: fc.constant("Selector"), selector }) },
);
const routeKind = oneof(
  { weight: 6, arbitrary: record({ group: fc.constant(GROUP), kind: kinds }) },
  { weight: 1, arbitrary: constantFrom({ group: GROUP, kind: "UDPRoute" }, { group: "x.example", kind: "HTTPRoute" }) },
);
const allowedRoutes = record({ namespaces: fromNamespaces, kinds: rare(some(routeKind, 3)) });
const listenerHostname = optional(
  constantFrom("*.example.com", "shop.example.com", "*.org", "api.example.com", "*.shop.example.com"),
);
const tlsOptions = rare(constantFrom({ "gateway.istio.io/tls-terminate-mode": "MUTUAL" }, { "x.example/option": "1" }));
const terminated = { mode: fc.constant("Terminate"), certificateRefs, options: tlsOptions };
const listenerProtocol = oneof<fc.WeightedArbitrary<object>[]>(
  {
    weight: 4,
    arbitrary: record({
      protocol: fc.constant("HTTP"),
      port: constantFrom(80, 80, 80, 80, 8080, 8080, 443),
      hostname: listenerHostname,
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      protocol: fc.constant("HTTPS"),
      port: constantFrom(443, 443, 443, 443, 8443, 8443, 80),
      hostname: listenerHostname,
      tls: record(terminated),
    }),
  },
  {
    weight: 2,
    arbitrary: record({
      protocol: fc.constant("TLS"),
      port: constantFrom(443, 9443, 9443),
      hostname: listenerHostname,
      tls: oneof<fc.Arbitrary<object>[]>(record(terminated), fc.constant({ mode: "Passthrough" })),
    }),
  },
  {
    weight: 2,
    arbitrary: record({
      protocol: constantFrom("TCP", "TCP", "TCP", "UDP", "x.example/other"),
      port: constantFrom(80, 9000, 9000, 9000, 9000, 9001),
    }),
  },
);
const listeners = array(fc.tuple(listenerProtocol, allowedRoutes), { minLength: 1, maxLength: 5 }).map((all) =>
  all.map(([listener, allowed], index) => ({ name: `l${index}`, ...listener, allowedRoutes: allowed })),
);

/** Gateways reject listeners of one port, protocol and hostname. ListenerSets may have those of their Gateways. */
const distinct = listeners.map(
  unique((each) => {
    const { port, protocol, hostname } = each as { port?: number; protocol?: string; hostname?: string };
    return `${port} ${protocol} ${hostname}`;
  }),
);

const clientValidation = record({
  caCertificateRefs: some(
    record({
      group: fc.constant(""),
      kind: constantFrom("ConfigMap", "ConfigMap", "Secret"),
      name: constantFrom("roots", "roots", "absent"),
      namespace: rare(namespace),
    }),
    2,
  ),
  mode: constantFrom("AllowValidOnly", "AllowInsecureFallback"),
});
const gatewayTls = rare(
  record({
    frontend: optional(
      record({
        default: record({ validation: optional(clientValidation) }),
        perPort: optional(
          some(
            fc
              .tuple(constantFrom(443, 8443, 9443), optional(clientValidation))
              .map(([port, validation]) => ({ port, tls: { ...(validation && { validation }) } })),
            2,
          ).map(unique(({ port }) => port)),
        ),
      }),
    ),
    backend: optional(record({ clientCertificateRef: certificateRef })),
  }),
);
const allowedListeners = usual(
  oneof(
    { weight: 6, arbitrary: fc.constant({ namespaces: { from: "All" } }) },
    { weight: 1, arbitrary: constantFrom({ namespaces: { from: "Same" } }, { namespaces: { from: "None" } }) },
    { weight: 1, arbitrary: selector.map((of) => ({ namespaces: { from: "Selector", selector: of } })) },
  ),
);

const hostname = (value: string): object => ({ type: "Hostname", value });
const gatewayClassName = oneof(
  { weight: 10, arbitrary: fc.constant("istio") },
  { weight: 1, arbitrary: constantFrom("other", "istio-remote") },
);

/** Returns the Service of a gateway: of each type, with and without an address. */
const gatewayService = (key: string, clusterIP: string): fc.Arbitrary<MeshObject | undefined> => {
  const ports = Object.entries(gatewayPorts).map(([name, port]) => `${name}:${port}`);
  const ingress = constantFrom<object[]>(
    [],
    [{ ip: "198.51.100.1" }],
    [{ hostname: "lb.example.net" }],
    [{ ip: "198.51.100.1" }, { ip: "198.51.100.2" }],
  );
  return usual(
    fc.tuple(constantFrom("ClusterIP", "LoadBalancer", "NodePort"), ingress).map(([type, addresses]) => ({
      ...service(key, ports, { clusterIP, type }),
      ...(type === "LoadBalancer" && addresses.length > 0 && { status: { loadBalancer: { ingress: addresses } } }),
    })),
  );
};

const deployedGateways = Object.entries(deployed).flatMap(([name, of], index) => [
  usual(
    object("Gateway", name, fc.constant(of), {
      gatewayClassName,
      listeners: distinct,
      allowedListeners,
      tls: gatewayTls,
    }),
  ),
  gatewayService(`${of}/${name}-istio`, `10.96.1.${index + 1}`),
]);

const manualGateway = [
  usual(
    object("Gateway", "manual", fc.constant("infra"), {
      gatewayClassName: fc.constant("istio"),
      listeners: distinct,
      tls: gatewayTls,
      addresses: constantFrom<object[]>(
        [hostname("manual.infra.svc.cluster.local")],
        [hostname("manual.infra.svc.cluster.local")],
        [hostname("manual")],
        [hostname("absent")],
        [hostname("manual"), hostname("edge-istio")],
        [{ type: "IPAddress", value: "198.51.100.9" }],
      ),
    }),
  ),
  gatewayService("infra/manual", "10.96.1.9"),
];

/** Gateways of the other classes, which have no Pods. */
const otherGateways = [
  rare(
    object("Gateway", "eastwest", fc.constant("payments"), {
      gatewayClassName: fc.constant("istio-east-west"),
      listeners: constantFrom<object[]>(
        [
          {
            name: "mesh",
            port: 15008,
            protocol: "HBONE",
            tls: { mode: "Terminate", options: { "gateway.istio.io/tls-terminate-mode": "ISTIO_MUTUAL" } },
            allowedRoutes: { namespaces: { from: "Same" } },
          },
        ],
        [
          {
            name: "cross",
            port: 15443,
            protocol: "TLS",
            tls: { mode: "Passthrough" },
            allowedRoutes: { namespaces: { from: "Same" } },
          },
        ],
      ),
    }),
  ),
  rare(
    object("Gateway", "far", fc.constant("infra"), {
      gatewayClassName: fc.constant("istio-remote"),
      listeners: distinct,
      addresses: optional(
        constantFrom<object[]>([hostname("far.example.net")], [{ type: "IPAddress", value: "198.51.100.7" }]),
      ),
    }),
  ),
  rare(
    object("Gateway", "waypoint", fc.constant("shop"), {
      gatewayClassName: fc.constant("istio-waypoint"),
      listeners: fc.constant([
        { name: "mesh", port: 15008, protocol: "HBONE", allowedRoutes: { namespaces: { from: "Same" } } },
      ]),
    }),
  ),
];

/** Each of the Gateways and their Services, or not. */
export const gateways: fc.Arbitrary<readonly MeshObject[]> = fc
  .tuple(...deployedGateways, ...manualGateway, ...otherGateways)
  .map((all) => all.filter((each) => each !== undefined));

export const gatewayRef = oneof(
  {
    weight: 8,
    arbitrary: constantFrom(
      { name: "edge", namespace: "infra" },
      { name: "inner", namespace: "shop" },
      { name: "manual", namespace: "infra" },
    ),
  },
  {
    weight: 1,
    arbitrary: constantFrom(
      { name: "eastwest", namespace: "payments" },
      { name: "far", namespace: "infra" },
      { name: "waypoint", namespace: "shop" },
      { name: "absent", namespace: "shop" },
    ),
  },
);

const gatewayParent = { group: GROUP, kind: "Gateway" };
const setParent = oneof(
  { weight: 12, arbitrary: gatewayRef.map((ref) => ({ ...gatewayParent, ...ref })) },
  {
    weight: 1,
    arbitrary: constantFrom<object>(
      { ...gatewayParent, name: "inner" },
      { group: GROUP, kind: "ListenerSet", name: "set-0", namespace: "shop" },
    ),
  },
);
export const listenerSet = named("ListenerSet", "set", namespace, { parentRef: setParent, listeners: distinct });
