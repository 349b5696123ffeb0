import { gatewayPorts, type MeshObject } from "@istiod/gateway-api/testing";
import {
  GROUP,
  type HostileMesh,
  innocent,
  listener,
  listenerSet,
  object,
  passthrough,
  route,
  routeKinds,
  routeOf,
  rule,
  times,
  tls,
  toEdge,
  toSet,
} from "./objects.js";

const { alt, https, other, tls: tlsPort, tcp } = gatewayPorts;

/** Fields of listeners by protocol, of which those at one port conflict. */
const protocols = [
  { protocol: "HTTP" },
  { protocol: "HTTPS", tls: tls() },
  { protocol: "TLS", tls: passthrough },
] as const;
const protocolOf = (at: number): object => protocols[at % protocols.length] ?? {};

/** Listeners that conflict with each other. */
export const hostileListeners: readonly HostileMesh[] = [
  {
    name: "listeners in conflict",
    objects: [
      ...innocent([
        ...times(20, (at) => listener(`same-${at}`, alt, { hostname: `h${at}.example.com` })),
        ...times(24, (at) => listener(`mixed-${at}`, other, { hostname: `h${at % 8}.example.com`, ...protocolOf(at) })),
        listener("no-tcp", other, { protocol: "TCP" }),
        listener("tcp", tcp, { protocol: "TCP" }),
        listener("http-at-tcp", tcp),
      ]),
      ...times(20, (at) =>
        listenerSet(`set-${at}`, toEdge, [
          listener("http", gatewayPorts.http),
          listener("alt", alt, { hostname: `h${at % 6}.example.com` }),
          listener("tcp", tcp, { protocol: "TCP" }),
        ]),
      ),
      ...times(20, (at) => route(`of-set-${at}`, { parentRefs: [toSet(`set-${at}`)] })),
    ],
  },
  {
    name: "ListenerSets in a cycle",
    objects: [
      ...innocent(),
      ...times(10, (at) => listenerSet(`ring-${at}`, toSet(`ring-${(at + 1) % 10}`), [listener("http", alt)])),
      listenerSet("own", toSet("own"), [listener("http", alt)]),
      ...times(11, (at) => route(`of-ring-${at}`, { parentRefs: [toSet(at === 10 ? "own" : `ring-${at}`)] })),
    ],
  },
  {
    name: "64 listeners in conflict",
    objects: [
      ...innocent([
        ...times(60, (at) =>
          listener(`l${at}`, [alt, other][Math.floor(at / 30)] ?? alt, {
            hostname: `h${Math.floor(at / 3) % 10}.example.com`,
            ...protocolOf(at),
          }),
        ),
        listener("tcp-alt", alt, { protocol: "TCP" }),
        listener("tcp-other", other, { protocol: "TCP" }),
        listener("tls-http", gatewayPorts.http, { protocol: "TLS", tls: passthrough }),
      ]),
      ...times(10, (at) => route(`host-${at}`, { hostnames: [`h${at}.example.com`] })),
      ...routeKinds.map((kind) => routeOf(kind, `any-${kind.toLowerCase()}`, { hostname: "h0.example.com" })),
    ],
  },
  { name: "one hostname for listeners of every protocol", objects: ofEveryProtocol() },
  { name: "Gateways of one Service", objects: ofOneService() },
  { name: "ListenerSets that are not allowed", objects: notAllowed() },
];

function ofEveryProtocol(): readonly MeshObject[] {
  const hostname = "same.example.com";
  const listeners: Readonly<Record<string, readonly [port: number, fields: object]>> = {
    "http-alt": [alt, { hostname }],
    https: [https, { hostname, protocol: "HTTPS", tls: tls() }],
    "http-https": [https, { hostname }],
    "passthrough-https": [https, { hostname, protocol: "TLS", tls: passthrough }],
    terminated: [tlsPort, { hostname, protocol: "TLS", tls: tls() }],
    "https-tls": [tlsPort, { hostname, protocol: "HTTPS", tls: tls() }],
    passthrough: [other, { hostname, protocol: "TLS", tls: passthrough }],
    "https-other": [other, { hostname, protocol: "HTTPS", tls: tls("absent") }],
    tcp: [tcp, { protocol: "TCP" }],
    "http-tcp": [tcp, { hostname }],
  };
  const sections = Object.keys(listeners);
  return [
    ...innocent(Object.entries(listeners).map(([name, [port, fields]]) => listener(name, port, fields))),
    ...routeKinds.flatMap((kind) => [
      routeOf(kind, `all-${kind.toLowerCase()}`, { hostname }),
      ...sections.map((sectionName) =>
        routeOf(kind, `${sectionName}-${kind.toLowerCase()}`, { parentRefs: [{ ...toEdge, sectionName }], hostname }),
      ),
    ]),
    listenerSet(
      "again",
      toEdge,
      Object.entries(listeners).map(([name, [port, fields]]) => listener(name, port, fields)),
    ),
    ...routeKinds.map((kind) =>
      routeOf(kind, `again-${kind.toLowerCase()}`, { parentRefs: [toSet("again")], hostname }),
    ),
  ];
}

/** Gateways of several namespaces whose address is the Service of another Gateway. */
function ofOneService(): readonly MeshObject[] {
  const addresses = [{ type: "Hostname", value: "edge-istio.infra.svc.cluster.local" }];
  return [
    ...innocent([listener("alt", alt, { hostname: "h0.example.com" })]),
    ...times(9, (at) =>
      object("Gateway", `${["infra", "shop", "payments"][at % 3]}/other-${at}`, {
        gatewayClassName: "istio",
        addresses,
        listeners: [
          listener("http", gatewayPorts.http, protocolOf(at)),
          listener("alt", alt, { hostname: `h${at % 2}.example.com`, ...protocolOf(Math.floor(at / 3)) }),
          listener("tcp", tcp, { protocol: "TCP" }),
        ],
      }),
    ),
    ...times(9, (at) =>
      route(`of-other-${at}`, {
        parentRefs: [{ name: `other-${at}`, namespace: ["infra", "shop", "payments"][at % 3] }],
        hostnames: ["innocent.example.com", "h0.example.com"],
        rules: [rule("/", [{ name: "web", port: 80 }])],
      }),
    ),
  ];
}

/** ListenerSets of Gateways that do not allow them, or that are none. */
function notAllowed(): readonly MeshObject[] {
  const allowed: Readonly<Record<string, object>> = {
    none: { namespaces: { from: "None" } },
    same: { namespaces: { from: "Same" } },
    selected: { namespaces: { from: "Selector", selector: { matchLabels: { team: "payments" } } } },
    unselected: { namespaces: { from: "Selector", selector: { matchLabels: { team: "nobody" } } } },
  };
  const parents: Readonly<Record<string, object>> = {
    ...Object.fromEntries(Object.keys(allowed).map((name) => [name, { name, namespace: "infra" }])),
    absent: { name: "absent", namespace: "infra" },
    other: { group: "x.example", kind: "Gateway", name: "edge", namespace: "infra" },
    service: { group: "", kind: "Service", name: "cart", namespace: "shop" },
    set: { group: GROUP, kind: "ListenerSet", name: "of-same", namespace: "shop" },
  };
  const addresses = [{ type: "Hostname", value: "edge-istio.infra.svc.cluster.local" }];
  return [
    ...innocent(),
    ...Object.entries(allowed).map(([name, allowedListeners]) =>
      object("Gateway", `infra/${name}`, {
        gatewayClassName: "istio",
        addresses,
        allowedListeners,
        listeners: [listener("http", alt, { hostname: `${name}.example.com` })],
      }),
    ),
    ...Object.entries(parents).flatMap(([name, parentRef]) =>
      ["shop", "payments", "infra"].flatMap((namespace) => [
        object("ListenerSet", `${namespace}/of-${name}`, {
          parentRef,
          listeners: [listener("http", gatewayPorts.http, { hostname: "innocent.example.com" })],
        }),
        object("HTTPRoute", `${namespace}/of-${name}`, {
          parentRefs: [toSet(`of-${name}`)],
          rules: [rule("/", [{ name: "web", port: 80, namespace: "shop" }])],
        }),
      ]),
    ),
  ];
}
