import type { MeshObject } from "@istiod/gateway-api/testing";
import {
  backend,
  GROUP,
  type HostileMesh,
  innocent,
  ISTIO_GROUP,
  listener,
  listenerSet,
  route,
  routeKinds,
  routeOf,
  rule,
  times,
  toEdge,
} from "./objects.js";
import { gatewayPorts } from "@istiod/gateway-api/testing";

/** Most references of a route to parents, by the API. */
const mostParents = 32;

/** Routes that are as large, or as many, as they can be. @param size number of routes where many are the point */
export function hostileRoutes(size: number): readonly HostileMesh[] {
  return [
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
        route("everywhere", { parentRefs: times(mostParents, (at) => ({ ...toEdge, port: 1 + at * 79 })) }),
      ],
    },
    { name: "routes of many parents", objects: ofManyParents() },
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

/** Routes of each kind with parents of each kind, of which many are absent or do not allow them. */
function ofManyParents(): readonly MeshObject[] {
  const service = (name: string, namespace: string): object => ({ group: "", kind: "Service", name, namespace });
  const entry = (name: string, namespace: string): object => ({
    group: ISTIO_GROUP,
    kind: "ServiceEntry",
    name,
    namespace,
  });
  const parents = [
    { ...toEdge, sectionName: "http" },
    { ...toEdge, sectionName: "alt" },
    { ...toEdge, sectionName: "absent" },
    { ...toEdge, sectionName: "tcp" },
    { ...toEdge, sectionName: "own" },
    ...times(5, (at) => ({ group: GROUP, kind: "ListenerSet", name: `set-${at}` })),
    ...times(3, (at) => ({ name: `absent-${at}`, namespace: "infra" })),
    { group: "x.example", kind: "Gateway", name: "edge", namespace: "infra" },
    { group: "", kind: "ConfigMap", name: "roots" },
    ...["cart", "web", "orders", "legacy", "bare", "absent"].map((name) => service(name, "shop")),
    ...["ledger", "multi", "absent"].map((name) => service(name, "payments")),
    entry("rates", "shop"),
    entry("partners", "payments"),
    entry("any", "infra"),
    entry("absent", "shop"),
  ];
  return [
    ...innocent([
      listener("alt", gatewayPorts.alt, { hostname: "*.example.com" }),
      listener("tcp", gatewayPorts.tcp, { protocol: "TCP" }),
      listener("own", gatewayPorts.other, { allowedRoutes: { namespaces: { from: "Same" } } }),
    ]),
    ...times(4, (at) =>
      listenerSet(`set-${at}`, toEdge, [
        listener("http", gatewayPorts.alt, { hostname: `set-${at % 2}.example.com` }),
        listener("kind", gatewayPorts.http, {
          hostname: `kind-${at}.example.com`,
          allowedRoutes: { kinds: [{ kind: "GRPCRoute" }], namespaces: { from: "All" } },
        }),
      ]),
    ),
    ...routeKinds.flatMap((kind) =>
      times(4, (at) =>
        routeOf(kind, `many-${at}-${kind.toLowerCase()}`, {
          parentRefs: parents.slice(0, mostParents),
          hostname: ["a.example.com", "*.example.com", "a.other.org", "set-0.example.com"][at] ?? "",
        }),
      ),
    ),
  ];
}
