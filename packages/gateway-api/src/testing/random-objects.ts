import fc from "fast-check";
import { gateways, listenerSet } from "./random-gateways.js";
import { grpcRoute, httpRoute, tcpRoute, tlsRoute } from "./random-routes.js";
import {
  GROUP,
  INFERENCE_GROUP,
  type MeshObject,
  namespace,
  named,
  optional,
  rename,
  some,
  unique,
} from "./random-fields.js";

const { constantFrom, record, array, oneof } = fc;

const grant = named("ReferenceGrant", "grant", namespace, {
  from: some(
    fc.tuple(
      constantFrom("HTTPRoute", "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "Gateway", "Gateway", "ListenerSet"),
      namespace,
    ),
    5,
  ).map((pairs) => pairs.map(([kind, from]) => ({ group: GROUP, kind, namespace: from }))),
  to: some(
    constantFrom(
      { group: "", kind: "Service" },
      { group: "", kind: "Secret" },
      { group: "", kind: "Secret", name: "certificate" },
      { group: "", kind: "Service", name: "ledger" },
      { group: "", kind: "ConfigMap" },
      { group: INFERENCE_GROUP, kind: "InferencePool" },
    ),
    3,
  ),
});

const policyTarget = oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        constantFrom("web", "web", "cart", "rates", "absent", "orders", "legacy", "ledger", "multi"),
        optional(constantFrom("http", "absent", "h2")),
      )
      .map(([name, sectionName]) => ({
        group: "",
        kind: "Service",
        name,
        ...(sectionName !== undefined && { sectionName }),
      })),
  },
  {
    weight: 1,
    arbitrary: constantFrom(
      { group: "networking.istio.io", kind: "ServiceEntry", name: "rates" },
      { group: GROUP, kind: "Gateway", name: "inner" },
    ),
  },
);
const backendTlsPolicy = named("BackendTLSPolicy", "policy", constantFrom("shop", "shop", "payments"), {
  targetRefs: some(policyTarget, 2).map(unique(({ name, ...rest }) => `${name} ${JSON.stringify(rest)}`)),
  validation: oneof<fc.Arbitrary<object>[]>(
    record({
      hostname: fc.constant("web.example.com"),
      wellKnownCACertificates: constantFrom("System", "x.example/none"),
    }),
    record({
      hostname: fc.constant("web.example.com"),
      caCertificateRefs: some(
        constantFrom(
          { group: "", kind: "ConfigMap", name: "roots" },
          { group: "", kind: "ConfigMap", name: "roots" },
          { group: "", kind: "ConfigMap", name: "absent" },
          { group: "", kind: "Secret", name: "certificate" },
        ),
        2,
      ).map(unique(({ kind, name }) => `${kind} ${name}`)),
      subjectAltNames: optional(
        some(constantFrom({ type: "Hostname", hostname: "alt.example.com" }, { type: "URI", uri: "spiffe://x/y" }), 1),
      ),
    }),
  ),
});

const inferencePool = named("InferencePool", "pool", constantFrom("shop", "shop", "payments"), {
  selector: fc.constant({ matchLabels: { app: "web" } }),
  targetPorts: constantFrom([{ number: 8080 }], [{ number: 8080 }, { number: 8081 }]),
  endpointPickerRef: constantFrom<object>(
    { group: "", kind: "Service", name: "web", port: { number: 80 }, failureMode: "FailOpen" },
    { group: "", kind: "Service", name: "cart", port: { number: 7070 }, failureMode: "FailClose" },
    { group: "", kind: "Service", name: "absent", port: { number: 80 }, failureMode: "FailClose" },
    { group: "x.example", kind: "Other", name: "cart", port: { number: 80 }, failureMode: "FailClose" },
  ),
});

const route = oneof(
  { weight: 6, arbitrary: httpRoute },
  { weight: 2, arbitrary: grpcRoute },
  { weight: 2, arbitrary: tcpRoute },
  { weight: 3, arbitrary: tlsRoute },
);

/** Objects of the Gateway API in `gatewayMesh`. Many refer to what is absent, not granted, or not allowed. */
export const randomObjects: fc.Arbitrary<readonly MeshObject[]> = fc
  .tuple(
    gateways,
    array(listenerSet, { maxLength: 3 }),
    array(route, { minLength: 2, maxLength: 10 }),
    array(grant, { maxLength: 4 }),
    array(backendTlsPolicy, { maxLength: 3 }),
    array(inferencePool, { maxLength: 2 }),
  )
  .map((all) => {
    const objects = all.flatMap((ofKind) => ofKind.map((each, index) => rename(each, index)));
    return unique(({ kind, metadata }: MeshObject) => `${kind}/${metadata.namespace ?? ""}/${metadata.name}`)(objects);
  });
