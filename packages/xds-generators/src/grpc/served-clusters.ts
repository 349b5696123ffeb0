import { query, type QueryContext } from "@istiod/incremental";
import {
  destinationRuleFor,
  type ScopedService,
  scopedService,
  scopeOf,
  type ServedSubsets,
  servedSubsets,
  serviceInScope,
} from "@istiod/push-context";
import type { parseClusterName } from "../resource-names.js";

/** The parts of a cluster's name. */
export type ClusterName = NonNullable<ReturnType<typeof parseClusterName>>;

/**
 * Reports whether a cluster is beyond the bounds of the service's clusters, as it is for an Envoy: the policy of its
 * DestinationRule is too large for all ports, or the subset is one of too many.
 */
export function isBeyondBounds(q: QueryContext, { hostname, subset }: ClusterName): boolean {
  const scoped = q.call(serviceInScope, { scope: scopeOf(q), hostname });
  if (scoped === undefined) return false;
  const { reasonWithoutClusters, served, leftOut } = q.call(grpcServedSubsets, scoped);
  if (reasonWithoutClusters !== undefined) return true;
  return leftOut > 0 && subset !== "" && !served.some(({ name }) => name === subset);
}

const grpcServedSubsets = query("grpcServedSubsets", (q, scoped: ScopedService): ServedSubsets => {
  const service = q.call(scopedService, scoped);
  if (service === undefined) return { served: [], leftOut: 0 };
  const { hostname, namespace } = service;
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP").length;
  const rule = q.call(destinationRuleFor, { host: hostname, serviceNamespace: namespace });
  return servedSubsets(q, { ports, namespace }, rule);
});
