import {
  backendKind,
  backends,
  backendTlsPolicies,
  backendTlsPolicyKind,
  backendTrafficPolicies,
  backendTrafficPolicyKind,
  type ConfigObject,
  gatewayClasses,
  gatewayClassKind,
  grpcRouteKind,
  grpcRoutes,
  httpRouteKind,
  httpRoutes,
  inferencePoolKind,
  inferencePools,
  type Kind,
  kubernetesGatewayKind,
  kubernetesGateways,
  listenerSetKind,
  listenerSets,
  tcpRouteKind,
  tcpRoutes,
  tlsRouteKind,
  tlsRoutes,
} from "@istiod/config-schema";
import type { Collection, Query } from "@istiod/incremental";
import { gatewayClassStatus } from "../classes/gateway-class-status.js";
import { inferencePoolStatus } from "../policies/inference-pool-status.js";
import { backendStatus, backendTlsPolicyStatus, backendTrafficPolicyStatus } from "../policies/policy-status.js";
import { routeStatus } from "../routes/route-status.js";
import type { RouteReference } from "../routes/route.js";
import { gatewayStatus } from "./gateway-status.js";
import { listenerSetStatus } from "./listener-set-status.js";
import type { ObjectStatus } from "./object-status.js";
import { type UnservedReference, unservedGateway, unservedListenerSet, unservedParents } from "./unserved-reasons.js";

/** A kind of objects whose status istiod writes. */
export interface StatusKind {
  readonly kind: Kind;
  /** Its objects, as the mesh has them. */
  readonly objects: Collection<ConfigObject<unknown>>;
  /** The status of an object by its key; undefined if istiod has none for it. */
  readonly status: Query<never, ObjectStatus | undefined>;
  /** Returns the argument of the query for a key. */
  readonly argument: (key: string) => unknown;
  /** Returns the key for an argument of the query; undefined if the query has it for another kind. */
  readonly keyOf: (argument: unknown) => string | undefined;
  /** The reasons for which istiod has no status for an object, or at some of its parents; called like `status`. */
  readonly unserved?: Query<never, readonly UnservedReference[]>;
  /** The most entries that the list of parents or ancestors in a status can have, with those of other controllers. */
  readonly mostEntries: number;
}

/** The kinds of the Gateway API whose status istiod writes. */
export const statusKinds: readonly StatusKind[] = [
  byKey(gatewayClassKind, gatewayClasses, gatewayClassStatus),
  { ...byKey(kubernetesGatewayKind, kubernetesGateways, gatewayStatus), unserved: unservedGateway },
  { ...byKey(listenerSetKind, listenerSets, listenerSetStatus), unserved: unservedListenerSet },
  ofRoutes("HTTPRoute", httpRouteKind, httpRoutes),
  ofRoutes("GRPCRoute", grpcRouteKind, grpcRoutes),
  ofRoutes("TCPRoute", tcpRouteKind, tcpRoutes),
  ofRoutes("TLSRoute", tlsRouteKind, tlsRoutes),
  { ...byKey(backendTlsPolicyKind, backendTlsPolicies, backendTlsPolicyStatus), mostEntries: 16 },
  { ...byKey(backendTrafficPolicyKind, backendTrafficPolicies, backendTrafficPolicyStatus), mostEntries: 16 },
  byKey(backendKind, backends, backendStatus),
  byKey(inferencePoolKind, inferencePools, inferencePoolStatus),
];

function byKey(
  kind: Kind,
  objects: Collection<ConfigObject<unknown>>,
  status: Query<string, ObjectStatus | undefined>,
): StatusKind {
  return {
    kind,
    objects,
    status,
    argument: (key) => key,
    keyOf: (key) => key as string,
    mostEntries: 32,
  };
}

function ofRoutes(name: RouteReference["kind"], kind: Kind, objects: Collection<ConfigObject<unknown>>): StatusKind {
  return {
    kind,
    objects,
    status: routeStatus,
    argument: (key): RouteReference => ({ kind: name, key }),
    keyOf: (argument) => {
      const route = argument as RouteReference;
      return route.kind === name ? route.key : undefined;
    },
    unserved: unservedParents,
    mostEntries: 32,
  };
}
