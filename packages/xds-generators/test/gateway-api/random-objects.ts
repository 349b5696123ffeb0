import fc from "fast-check";
import { gateways, listenerSet } from "./random-gateways.js";
import { grpcRoute, httpRoute, tcpRoute, tlsRoute } from "./random-routes.js";
import { GROUP, type GatewayApiObject, optional, some, namespace, named, rename, unique } from "./random-fields.js";

const { constantFrom, record, array, oneof } = fc;

const grant = named("ReferenceGrant", "grant", namespace, {
  from: some(
    fc.tuple(constantFrom("HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "Gateway", "ListenerSet"), namespace),
    4,
  ).map((pairs) => pairs.map(([kind, from]) => ({ group: GROUP, kind, namespace: from }))),
  to: some(
    constantFrom(
      { group: "", kind: "Service" },
      { group: "", kind: "Secret" },
      { group: "", kind: "Secret", name: "certificate" },
    ),
  ),
});

const backendTlsPolicy = named("BackendTLSPolicy", "policy", fc.constant("shop"), {
  targetRefs: some(
    fc
      .tuple(constantFrom("web", "web", "cart", "rates", "absent"), optional(constantFrom("http", "absent")))
      .map(([name, sectionName]) => ({
        group: "",
        kind: "Service",
        name,
        ...(sectionName !== undefined && { sectionName }),
      })),
    1,
  ),
  validation: oneof(
    record({ hostname: fc.constant("web.example.com"), wellKnownCACertificates: fc.constant("System") }),
    record({
      hostname: fc.constant("web.example.com"),
      caCertificateRefs: constantFrom("roots", "absent").map((name) => [{ group: "", kind: "ConfigMap", name }]),
      subjectAltNames: optional(
        some(constantFrom({ type: "Hostname", hostname: "alt.example.com" }, { type: "URI", uri: "spiffe://x/y" }), 1),
      ),
    }),
  ),
});

/** Objects of the Gateway API in `gatewayMesh`, as YAML. Many refer to what is absent, not granted, or not allowed. */
export const randomObjects: fc.Arbitrary<string> = fc
  .tuple(
    gateways,
    array(listenerSet, { maxLength: 2 }),
    array(
      oneof(
        { weight: 5, arbitrary: httpRoute },
        { weight: 2, arbitrary: grpcRoute },
        { weight: 1, arbitrary: tcpRoute },
        { weight: 1, arbitrary: tlsRoute },
      ),
      {
        minLength: 1,
        maxLength: 7,
      },
    ),
    array(grant, { maxLength: 3 }),
    array(backendTlsPolicy, { maxLength: 2 }),
  )
  .map((all) => {
    const objects = all.flatMap((ofKind) => ofKind.map((each, index) => rename(each, index)));
    const keyOf = ({ kind, metadata }: GatewayApiObject): string =>
      `${kind}/${metadata.namespace ?? ""}/${metadata.name}`;
    return unique(keyOf)(objects)
      .map((each) => `---\n${JSON.stringify(each)}\n`)
      .join("");
  });
