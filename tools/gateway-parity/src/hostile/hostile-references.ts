import { gatewayPorts, type MeshObject } from "@istiod/gateway-api/testing";
import {
  backend,
  GROUP,
  type HostileMesh,
  innocent,
  ISTIO_GROUP,
  listener,
  listenerSet,
  object,
  route,
  type RouteKind,
  routeKinds,
  routeOf,
  rule,
  rulesByKind,
  times,
  tls,
  toEdge,
} from "./objects.js";

const { alt, https, other } = gatewayPorts;

/** References to what is absent, of another kind, or of another namespace without a grant. */
export const hostileReferences: readonly HostileMesh[] = [
  {
    name: "other namespaces without a grant",
    objects: [
      ...innocent(
        times(10, (at) =>
          listener(`https-${at}`, https, {
            protocol: "HTTPS",
            hostname: `s${at}.example.com`,
            tls: tls("certificate", ["shop", "payments"][at % 2]),
          }),
        ),
      ),
      ...times(20, (at) =>
        route(`foreign-${at}`, {
          hostnames: [`foreign-${at % 7}.example.com`],
          rules: [
            rule("/", [backend("ledger", { namespace: "payments" })]),
            { ...rule("/mirrored"), filters: [mirror(backend("ledger", { namespace: "payments" }))] },
            rule("/half", [backend("cart", { weight: 1 }), backend("ledger", { namespace: "payments", weight: 9 })]),
          ],
        }),
      ),
      route("stolen", { hostnames: ["innocent.example.com"], rules: [rule("/", [backend("nobody")])] }),
    ],
  },
  { name: "grants for others", objects: grantsForOthers() },
  { name: "backends of every missing kind", objects: missingBackends() },
  { name: "certificates of every missing kind", objects: missingCertificates() },
];

function mirror(backendRef: object): object {
  return { type: "RequestMirror", requestMirror: { backendRef } };
}

function grant(name: string, namespace: string, from: readonly object[], to: readonly object[]): MeshObject {
  return object("ReferenceGrant", `${namespace}/${name}`, { from, to });
}

/** Grants that name another kind, namespace or object than the references have, or are at the wrong end of them. */
function grantsForOthers(): readonly MeshObject[] {
  const from = (kind: string, namespace: string, group = GROUP): object => ({ group, kind, namespace });
  const [toServices, toSecrets] = [
    { group: "", kind: "Service" },
    { group: "", kind: "Secret" },
  ];
  const ledger = (port: number): object => ({ name: "ledger", namespace: "payments", port });
  const ports: Readonly<Record<RouteKind, number>> = { HTTPRoute: 80, GRPCRoute: 80, TLSRoute: 9000, TCPRoute: 9000 };
  return [
    ...innocent([
      listener("https", https, {
        protocol: "HTTPS",
        hostname: "s.example.com",
        tls: tls("certificate", "payments"),
      }),
      listener("tls", gatewayPorts.tls, { protocol: "TLS", tls: { mode: "Passthrough" } }),
      listener("tcp", gatewayPorts.tcp, { protocol: "TCP" }),
    ]),
    grant("from-other-namespace", "payments", [from("HTTPRoute", "infra")], [toServices]),
    grant("from-other-group", "payments", [from("HTTPRoute", "shop", "x.example")], [toServices]),
    grant("from-core", "payments", [from("HTTPRoute", "shop", "")], [toServices]),
    grant(
      "to-other-name",
      "payments",
      routeKinds.map((kind) => from(kind, "shop")),
      [{ ...toServices, name: "multi" }],
    ),
    grant(
      "to-other-kind",
      "payments",
      [from("HTTPRoute", "shop"), from("Gateway", "infra")],
      [
        { group: "", kind: "ConfigMap" },
        { group: "x.example", kind: "Service" },
        { group: "x.example", kind: "Secret" },
      ],
    ),
    grant("at-the-wrong-end", "shop", [from("HTTPRoute", "payments")], [toServices]),
    grant("of-route-for-secrets", "payments", [from("HTTPRoute", "infra")], [toSecrets]),
    grant("of-set-for-secrets", "payments", [from("ListenerSet", "infra")], [toSecrets]),
    ...routeKinds.map((kind) =>
      routeOf(kind, `denied-${kind.toLowerCase()}`, {
        hostname: `${kind.toLowerCase()}.example.com`,
        rules: rulesByKind[kind](ledger(ports[kind])),
      }),
    ),
    listenerSet("of-shop", toEdge, [
      listener("https", other, {
        protocol: "HTTPS",
        hostname: "set.example.com",
        tls: tls("certificate", "payments"),
      }),
      listener("own", other, {
        protocol: "HTTPS",
        hostname: "own.example.com",
        tls: tls("certificate", "infra"),
      }),
    ]),
  ];
}

function missingBackends(): readonly MeshObject[] {
  const backends: Readonly<Record<string, object>> = {
    service: backend("absent"),
    port: backend("cart", { port: 81 }),
    namespace: backend("cart", { namespace: "nowhere" }),
    hostname: { group: ISTIO_GROUP, kind: "Hostname", name: "absent.example.net", port: 80 },
    "hostname-port": { group: ISTIO_GROUP, kind: "Hostname", name: "rates.example.net", port: 81 },
    "hostname-portless": { group: ISTIO_GROUP, kind: "Hostname", name: "rates.example.net" },
    "hostname-namespace": {
      group: ISTIO_GROUP,
      kind: "Hostname",
      name: "rates.example.net",
      namespace: "payments",
      port: 80,
    },
    entry: { group: ISTIO_GROUP, kind: "ServiceEntry", name: "rates", port: 80 },
    "absent-entry": { group: ISTIO_GROUP, kind: "ServiceEntry", name: "absent", port: 80 },
    pool: { group: "inference.networking.k8s.io", kind: "InferencePool", name: "absent" },
    "other-kind": { group: "", kind: "ConfigMap", name: "roots", port: 80 },
    "other-group": { group: "x.example", kind: "Service", name: "cart", port: 80 },
    gateway: { group: GROUP, kind: "Gateway", name: "edge", namespace: "infra", port: 80 },
    import: { group: "multicluster.x-k8s.io", kind: "ServiceImport", name: "cart", port: 80 },
    external: backend("legacy"),
    headless: backend("orders"),
    udp: backend("multi", { namespace: "payments", port: 83 }),
  };
  const parents = [toEdge, { group: "", kind: "Service", name: "web", namespace: "shop" }];
  return [
    ...innocent([
      listener("tls", gatewayPorts.tls, { protocol: "TLS", tls: { mode: "Passthrough" } }),
      listener("tcp", gatewayPorts.tcp, { protocol: "TCP" }),
    ]),
    ...Object.entries(backends).flatMap(([name, ref]) => [
      ...routeKinds.map((kind) =>
        routeOf(kind, `${name}-${kind.toLowerCase()}`, {
          parentRefs: kind === "HTTPRoute" ? parents : [toEdge],
          hostname: `${name}.${kind.toLowerCase()}.example.com`,
          rules: rulesByKind[kind](ref),
        }),
      ),
      route(`${name}-mirror`, {
        hostnames: [`${name}.mirror.example.com`],
        rules: [{ ...rule("/"), filters: [mirror(ref)] }, rule("/half", [backend("cart"), { ...ref, weight: 3 }])],
      }),
    ]),
    route("all", {
      hostnames: ["all.example.com"],
      rules: [rule("/", Object.values(backends).slice(0, 16))],
    }),
  ];
}

function missingCertificates(): readonly MeshObject[] {
  const refs: Readonly<Record<string, readonly object[]>> = {
    absent: [{ name: "absent" }],
    namespace: [{ name: "certificate", namespace: "nowhere" }],
    "config-map": [{ kind: "ConfigMap", name: "roots" }],
    "other-group": [{ group: "x.example", kind: "Secret", name: "certificate" }],
    "first-absent": [{ name: "absent" }, { name: "certificate" }],
    "last-absent": [{ name: "certificate" }, { name: "absent" }],
    "first-not-granted": [{ name: "certificate", namespace: "payments" }, { name: "certificate" }],
    good: [{ name: "certificate" }],
  };
  const listeners = Object.entries(refs).map(([name, certificateRefs]) =>
    listener(name, https, { protocol: "HTTPS", hostname: `${name}.example.com`, tls: { certificateRefs } }),
  );
  const roots: Readonly<Record<string, readonly object[]>> = {
    "443": [{ group: "", kind: "ConfigMap", name: "absent" }],
    "8443": [{ group: "", kind: "Secret", name: "absent" }],
    "9443": [{ group: "x.example", kind: "ConfigMap", name: "roots" }],
  };
  return [
    ...innocent(
      [
        ...listeners,
        ...[gatewayPorts.other, gatewayPorts.tls].map((port) =>
          listener(`roots-${port}`, port, { protocol: "HTTPS", hostname: "roots.example.com", tls: tls() }),
        ),
      ],
      {
        tls: {
          frontend: {
            default: { validation: { caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "roots" }] } },
            perPort: Object.entries(roots).map(([port, caCertificateRefs]) => ({
              port: Number(port),
              tls: { validation: { caCertificateRefs } },
            })),
          },
          backend: { clientCertificateRef: { name: "absent" } },
        },
      },
    ),
    listenerSet("certificates", toEdge, [
      ...Object.entries(refs).map(([name, certificateRefs]) =>
        listener(name, other, { protocol: "HTTPS", hostname: `${name}.example.org`, tls: { certificateRefs } }),
      ),
      listener("plain", alt, { hostname: "plain.example.org" }),
    ]),
    ...Object.keys(refs).flatMap((name) => [
      route(`${name}-com`, { hostnames: [`${name}.example.com`] }),
      route(`${name}-org`, {
        parentRefs: [{ group: GROUP, kind: "ListenerSet", name: "certificates" }],
        hostnames: [`${name}.example.org`],
      }),
    ]),
  ];
}
