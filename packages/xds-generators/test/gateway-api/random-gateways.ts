import fc from "fast-check";
import { deployed } from "./gateway-mesh.js";
import { GROUP, optional, rare, usual, some, namespace, named, object } from "./random-fields.js";

const { constantFrom, record, array, oneof } = fc;

const secrets = constantFrom("certificate", "certificate", "certificate", "absent");
const certificateRef = record({
  group: fc.constant(""),
  kind: constantFrom("Secret", "Secret", "Secret", "ConfigMap"),
  name: secrets,
  namespace: optional(namespace),
});
const kinds = constantFrom("HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute");
const allowedRoutes = record({
  namespaces: oneof(
    record({ from: constantFrom("Same", "All", "All", "All", "All") }),
    fc.constant({ from: "Selector", selector: { matchLabels: { team: "shop" } } }),
  ),
  kinds: rare(some(record({ group: fc.constant(GROUP), kind: kinds }))),
});
const listenerHostname = optional(constantFrom("*.example.com", "shop.example.com", "*.org", "api.example.com"));
const terminated = { mode: fc.constant("Terminate"), certificateRefs: some(certificateRef) };
const listenerProtocol = oneof(
  {
    weight: 4,
    arbitrary: record({ protocol: fc.constant("HTTP"), port: constantFrom(80, 8080), hostname: listenerHostname }),
  },
  {
    weight: 2,
    arbitrary: record({
      protocol: fc.constant("HTTPS"),
      port: constantFrom(443, 8443),
      hostname: listenerHostname,
      tls: record(terminated),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      protocol: fc.constant("TLS"),
      port: constantFrom(443, 9443),
      hostname: listenerHostname,
      tls: oneof(record(terminated), fc.constant({ mode: "Passthrough" })),
    }),
  },
  {
    weight: 1,
    arbitrary: record({ protocol: constantFrom("TCP", "TCP", "UDP", "x.example/other"), port: constantFrom(80, 9000) }),
  },
);
const listeners = array(fc.tuple(listenerProtocol, allowedRoutes), { minLength: 1, maxLength: 4 }).map((all) =>
  all.map(([listener, allowed], index) => ({ name: `l${index}`, ...listener, allowedRoutes: allowed })),
);

const clientValidation = record({
  caCertificateRefs: some(
    record({
      group: fc.constant(""),
      kind: constantFrom("ConfigMap", "ConfigMap", "Secret"),
      name: constantFrom("roots", "roots", "absent"),
      namespace: rare(namespace),
    }),
    1,
  ),
  mode: constantFrom("AllowValidOnly", "AllowInsecureFallback"),
});
const gatewayTls = rare(
  record({
    frontend: record({
      default: record({ validation: optional(clientValidation) }),
      perPort: rare(clientValidation.map((validation) => [{ port: 443, tls: { validation } }])),
    }),
  }),
);

const address = { type: "Hostname", value: "manual.infra.svc.cluster.local" };

/** Each of the Gateways, or not. */
export const gateways = fc
  .tuple(
    ...Object.entries(deployed).map(([name, of]) =>
      usual(
        object("Gateway", name, fc.constant(of), {
          gatewayClassName: constantFrom("istio", "istio", "istio", "istio", "other"),
          listeners,
          allowedListeners: usual(fc.constant({ namespaces: { from: "All" } })),
          tls: gatewayTls,
        }),
      ),
    ),
    usual(
      object("Gateway", "manual", fc.constant("infra"), {
        gatewayClassName: fc.constant("istio"),
        listeners,
        addresses: constantFrom(
          [address],
          [address],
          [{ ...address, value: "manual" }],
          [{ ...address, value: "absent" }],
        ),
      }),
    ),
  )
  .map((all) => all.filter((each) => each !== undefined));
export const gatewayRef = constantFrom(
  { name: "edge", namespace: "infra" },
  { name: "inner", namespace: "shop" },
  { name: "manual", namespace: "infra" },
);

export const listenerSet = named("ListenerSet", "set", namespace, {
  parentRef: gatewayRef.map((ref) => ({ group: GROUP, kind: "Gateway", ...ref })),
  listeners,
});
