import { grpcRoutes, httpRoutes, tcpRoutes, tlsRoutes } from "@istiod/config-schema";
import { type Index, index, query } from "@istiod/incremental";
import type { PolicyTarget } from "./policy-target.js";
import { gatewayApiGroup } from "../names.js";

interface RouteFields {
  readonly namespace: string;
  readonly spec: {
    readonly parentRefs: readonly Reference[];
    readonly rules: readonly { readonly backendRefs: readonly Reference[] }[];
  };
}

interface Reference {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}

const groups: Readonly<Record<PolicyTarget["kind"], string>> = {
  Service: "",
  ServiceEntry: "networking.istio.io",
  XBackend: "gateway.networking.x-k8s.io",
};

function backendsOf({ namespace, spec: { rules } }: RouteFields): readonly string[] {
  const keys = rules
    .flatMap(({ backendRefs }) => backendRefs)
    .map(({ group = "", kind = "Service", namespace: of = namespace, name }) => `${group}/${kind}/${of}/${name}`);
  return [...new Set(keys)];
}

const byBackend: readonly Index<RouteFields>[] = [
  index(httpRoutes, "byBackend", backendsOf),
  index(grpcRoutes, "byBackend", backendsOf),
  index(tcpRoutes, "byBackend", backendsOf),
  index(tlsRoutes, "byBackend", backendsOf),
];

/** The keys (`namespace/name`) of the Gateways that routes to a backend name as parents, sorted. */
export const gatewaysOfBackend = query(
  "gatewayApiGatewaysOfBackend",
  (q, { kind, namespace, name }: PolicyTarget): readonly string[] => {
    const key = `${groups[kind]}/${kind}/${namespace}/${name}`;
    const gateways = byBackend
      .flatMap((routes) => q.read(routes, key))
      .flatMap((route) => route.spec.parentRefs.map((ref) => gatewayKey(ref, route.namespace)))
      .filter((gateway) => gateway !== undefined);
    return [...new Set(gateways)].sort();
  },
);

function gatewayKey(
  { group = gatewayApiGroup, kind = "Gateway", namespace, name }: Reference,
  routeNamespace: string,
): string | undefined {
  return group === gatewayApiGroup && kind === "Gateway" ? `${namespace ?? routeNamespace}/${name}` : undefined;
}
