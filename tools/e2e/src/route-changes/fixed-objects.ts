import { sharedHost } from "./route-slot.js";

/** Port of the gateway. */
export const gatewayPort = 8080;

/** A route that stays, with the backend that answers its requests. */
export interface StayingRoute {
  readonly namespace: string;
  /** Name of the workload that serves it. */
  readonly backend: string;
  readonly host: string;
  readonly section: string;
}

/** A route of a namespace that never changes anything, and one whose host has changing routes. */
export const stayingRoutes = [
  { namespace: "shop", backend: "web", host: "shop.example", section: "shop" },
  { namespace: "tenant", backend: "stay", host: sharedHost, section: "all" },
] as const satisfies readonly StayingRoute[];

/** Returns the value by which a backend knows that its route sent the request. */
export function markOf({ namespace, backend }: StayingRoute): string {
  return `spiffe://routes/${namespace}/${backend}`;
}

/**
 * Returns the gateway and the routes that stay, YAML. The application of `Traffic` answers with the client of
 * `x-forwarded-client-cert`, which each of these routes sets to its mark.
 */
export function fixedObjects(): string {
  return `
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: own-address, namespace: edge}
spec:
  workloadSelector: {labels: {app: ingress}}
  configPatches:
  - applyTo: LISTENER
    match: {context: GATEWAY}
    patch: {operation: MERGE, value: {address: {socket_address: {address: "{{ingress}}"}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: ingress, namespace: edge, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  gatewayClassName: istio
  addresses: [{type: Hostname, value: ingress.edge.svc.cluster.local}]
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: shop, port: ${gatewayPort}, protocol: HTTP, hostname: shop.example, allowedRoutes: {namespaces: {from: All}}}
  - {name: all, port: ${gatewayPort}, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
${stayingRoutes.map(stayingObject).join("")}`;
}

function stayingObject(route: StayingRoute): string {
  const { namespace, backend, host, section } = route;
  return `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ${backend}, namespace: ${namespace}, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: ingress, namespace: edge, sectionName: ${section}}]
  hostnames: [${host}]
  rules:
  - filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: x-forwarded-client-cert, value: "URI=${markOf(route)}"}]}
    backendRefs: [{name: ${backend}, port: 8000}]
`;
}
