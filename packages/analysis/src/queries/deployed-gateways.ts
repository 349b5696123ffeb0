import {
  grpcRoutes,
  httpRoutes,
  kubernetesGateways,
  type ParentReference,
  tcpRoutes,
  tlsRoutes,
} from "@istiod/config-schema";
import { inferencePoolStatus, isManaged, servedClass } from "@istiod/gateway-api";
import { query, type QueryContext } from "@istiod/incremental";

const routes = { HTTPRoute: httpRoutes, GRPCRoute: grpcRoutes, TCPRoute: tcpRoutes, TLSRoute: tlsRoutes } as const;

/** An object by its kind's name and its key, `namespace/name`. */
export interface AttachedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * The Gateways of the Gateway API that an object is, or is attached to, and whose workloads istiod deploys in a
 * cluster, as `namespace/name`.
 */
export const deployedGateways = query("deployedGateways", (q, { kind, namespace, name }: AttachedObject) => {
  const own = `${namespace}/${name}`;
  const gateways =
    kind === "Gateway"
      ? [own]
      : kind === "InferencePool"
        ? gatewaysOfPool(q, own)
        : parentsOf(q, kind, own).map((parent) => `${parent.namespace ?? namespace}/${parent.name}`);
  return gateways.filter((key) => {
    const spec = q.read(kubernetesGateways, key)?.spec;
    return spec !== undefined && isManaged(q, spec) && q.call(servedClass, spec.gatewayClassName)?.role === "gateway";
  });
});

function gatewaysOfPool(q: QueryContext, key: string): readonly string[] {
  const parents = q.call(inferencePoolStatus, key)?.parents ?? [];
  return parents.map(({ parentRef: { namespace, name } }) => `${namespace}/${name}`);
}

function parentsOf(q: QueryContext, kind: string, key: string): readonly ParentReference[] {
  const collection = routes[kind as keyof typeof routes] as (typeof routes)["HTTPRoute"] | undefined;
  const parents = collection === undefined ? [] : (q.read(collection, key)?.spec.parentRefs ?? []);
  return parents.filter((parent) => (parent.kind ?? "Gateway") === "Gateway");
}
