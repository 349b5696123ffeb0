import { gatewayPorts, type MeshObject, service } from "@istiod/gateway-api/testing";

const GROUP = "gateway.networking.k8s.io";

/** Objects of the Gateway API in `gatewayMesh` that are made to harm others, and an innocent route beside them. */
export interface HostileMesh {
  readonly name: string;
  readonly objects: readonly MeshObject[];
}

const [old, young] = ["2024-01-01T00:00:00Z", "2024-01-01T00:00:09Z"];

const object = (kind: string, key: string, spec: object, creationTimestamp = young): MeshObject => {
  const [namespace = "", name = ""] = key.split("/");
  return { apiVersion: `${GROUP}/v1`, kind, metadata: { name, namespace, creationTimestamp }, spec };
};

const listener = (name: string, port: number, fields: object = {}): object => ({
  name,
  port,
  protocol: "HTTP",
  allowedRoutes: { namespaces: { from: "All" } },
  ...fields,
});

const tls = (name: string, namespace?: string): object => ({
  certificateRefs: [{ name, ...(namespace && { namespace }) }],
});

const passthrough = { mode: "Passthrough" };

const edge = (listeners: readonly object[]): MeshObject =>
  object(
    "Gateway",
    "infra/edge",
    { gatewayClassName: "istio", allowedListeners: { namespaces: { from: "All" } }, listeners },
    old,
  );

const backend = (name: string, fields: object = {}): object => ({ name, port: 80, ...fields });
const rule = (path: string, backendRefs: readonly object[] = [backend("cart")]): object => ({
  matches: [{ path: { type: "PathPrefix", value: path } }],
  backendRefs,
});
const toEdge = { name: "edge", namespace: "infra" };

const route = (name: string, fields: object): MeshObject =>
  object("HTTPRoute", `shop/${name}`, { parentRefs: [toEdge], rules: [rule("/")], ...fields });

/** A Gateway with its Service, and a route that no other object may harm. */
const innocent = (listeners: readonly object[] = []): readonly MeshObject[] => [
  service(
    "infra/edge-istio",
    Object.entries(gatewayPorts).map(([name, port]) => `${name}:${port}`),
    {
      clusterIP: "10.96.3.201",
    },
  ),
  edge([listener("http", gatewayPorts.http), ...listeners]),
  object(
    "HTTPRoute",
    "shop/innocent",
    { parentRefs: [toEdge], hostnames: ["innocent.example.com"], rules: [rule("/")] },
    old,
  ),
];

const times = <T>(count: number, of: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => of(at));

const listenerSet = (name: string, parentRef: object, listeners: readonly object[]): MeshObject =>
  object("ListenerSet", `shop/${name}`, { parentRef, listeners });

/** Returns meshes that are hostile in one way each. @param size number of routes where many are the point */
export function hostileMeshes(size: number): readonly HostileMesh[] {
  return [
    {
      name: "listeners in conflict",
      objects: [
        ...innocent([
          ...times(20, (at) => listener(`same-${at}`, gatewayPorts.alt, { hostname: `h${at}.example.com` })),
          ...times(24, (at) => ({
            ...listener(`mixed-${at}`, gatewayPorts.other, { hostname: `h${at % 8}.example.com` }),
            ...[
              { protocol: "HTTP" },
              { protocol: "HTTPS", tls: tls("certificate") },
              { protocol: "TLS", tls: passthrough },
            ][at % 3],
          })),
          listener("no-tcp", gatewayPorts.other, { protocol: "TCP" }),
          listener("tcp", gatewayPorts.tcp, { protocol: "TCP" }),
          listener("http-at-tcp", gatewayPorts.tcp),
        ]),
        ...times(20, (at) =>
          listenerSet(`set-${at}`, toEdge, [
            listener("http", gatewayPorts.http),
            listener("alt", gatewayPorts.alt, { hostname: `h${at % 6}.example.com` }),
            listener("tcp", gatewayPorts.tcp, { protocol: "TCP" }),
          ]),
        ),
        ...times(20, (at) =>
          route(`of-set-${at}`, { parentRefs: [{ kind: "ListenerSet", group: GROUP, name: `set-${at}` }] }),
        ),
      ],
    },
    {
      name: "ListenerSets in a cycle",
      objects: [
        ...innocent(),
        ...times(10, (at) =>
          listenerSet(`ring-${at}`, { group: GROUP, kind: "ListenerSet", name: `ring-${(at + 1) % 10}` }, [
            listener("http", gatewayPorts.alt),
          ]),
        ),
        listenerSet("own", { group: GROUP, kind: "ListenerSet", name: "own" }, [listener("http", gatewayPorts.alt)]),
        ...times(11, (at) =>
          route(`of-ring-${at}`, {
            parentRefs: [{ kind: "ListenerSet", group: GROUP, name: at === 10 ? "own" : `ring-${at}` }],
          }),
        ),
      ],
    },
    {
      name: "other namespaces without a grant",
      objects: [
        ...innocent(
          times(10, (at) =>
            listener(`https-${at}`, gatewayPorts.https, {
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
              {
                ...rule("/mirrored"),
                filters: [
                  {
                    type: "RequestMirror",
                    requestMirror: { backendRef: backend("ledger", { namespace: "payments" }) },
                  },
                ],
              },
              rule("/half", [backend("cart", { weight: 1 }), backend("ledger", { namespace: "payments", weight: 9 })]),
            ],
          }),
        ),
        route("stolen", { hostnames: ["innocent.example.com"], rules: [rule("/", [backend("nobody")])] }),
      ],
    },
    {
      name: "routes at the limits",
      objects: [
        ...innocent(),
        ...times(4, (at) =>
          route(`wide-${at}`, {
            hostnames: times(16, (i) => `wide-${at}-${i}.example.com`),
            rules: times(16, (i) => ({
              matches: times(8, (j) => ({
                path: { type: "PathPrefix", value: `/${i}/${j}` },
                headers: times(16, (k) => ({ name: `x-h${k}`, value: `${i}` })),
              })),
              backendRefs: times(16, (j) => backend(["cart", "web", "nobody"][j % 3] ?? "", { weight: j })),
            })),
          }),
        ),
        route("everywhere", { parentRefs: times(32, (at) => ({ ...toEdge, port: 1 + at * 79 })) }),
      ],
    },
    {
      name: `${size} routes of one host`,
      objects: [
        ...innocent(),
        ...times(size, (at) =>
          route(`many-${at}`, {
            hostnames: ["one.example.com"],
            rules: [rule(`/${at % (size / 2)}`, [backend(at % 10 === 0 ? "nobody" : "cart")])],
          }),
        ),
      ],
    },
  ];
}
