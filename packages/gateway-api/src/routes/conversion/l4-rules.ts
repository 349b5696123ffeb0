import { create } from "@bufbuild/protobuf";
import { type L4RouteRule, tcpRoutes, tlsRoutes } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type RouteDestination,
  RouteDestinationSchema,
  type TCPRoute,
  TCPRouteSchema,
  type TLSRoute,
  TLSRouteSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { type RouteBackend, resolvedBackend } from "../backends.js";
import { allWhenEmpty } from "../route-attachments.js";
import { InvalidRouteError, problemOf, type RouteProblem } from "../route-problem.js";
import type { ConvertedRules } from "./http-rules.js";
import { destinationMessage } from "./messages.js";
import { weighted, weightSum } from "./weights.js";

/** A TCPRoute or TLSRoute, as clients in the mesh or gateways apply it. */
export interface L4RulesOf {
  /** `namespace/name`. */
  readonly key: string;
  readonly inMesh: boolean;
}

/** The rules of a TCPRoute. */
export const convertedTcpRules = query(
  "gatewayApiTcpRules",
  (q, { key, inMesh }: L4RulesOf): ConvertedRules<TCPRoute> => {
    const object = q.read(tcpRoutes, key);
    if (object === undefined) return { routes: [], notes: [] };
    const backendOf = (ref: RouteBackend["ref"]): RouteBackend => ({
      routeKind: "TCPRoute",
      namespace: object.namespace,
      ref,
      needsGrant: !inMesh,
    });
    return convertAll(object.spec.rules, (rule) => {
      const { destinations, ...found } = destinationsOf(q, rule, backendOf);
      return { route: create(TCPRouteSchema, { route: [...destinations] }), ...found };
    });
  },
);

/** The rules of a TLSRoute. */
export const convertedTlsRules = query(
  "gatewayApiTlsRules",
  (q, { key, inMesh }: L4RulesOf): ConvertedRules<TLSRoute> => {
    const object = q.read(tlsRoutes, key);
    if (object === undefined) return { routes: [], notes: [] };
    const backendOf = (ref: RouteBackend["ref"]): RouteBackend => ({
      routeKind: "TLSRoute",
      namespace: object.namespace,
      ref,
      needsGrant: !inMesh,
    });
    const match = [{ sniHosts: [...allWhenEmpty(object.spec.hostnames)] }];
    return convertAll(object.spec.rules, (rule) => {
      const { destinations, ...found } = destinationsOf(q, rule, backendOf);
      const hasMatch = weightSum(rule.backendRefs) > 0;
      return { route: create(TLSRouteSchema, { ...(hasMatch && { match }), route: [...destinations] }), ...found };
    });
  },
);

/** Faults of the backends of a rule. */
interface Found {
  readonly problem: RouteProblem | undefined;
  readonly notes: readonly string[];
}

function convertAll<T>(
  rules: readonly L4RouteRule[],
  convert: (rule: L4RouteRule) => Found & { readonly route: T },
): ConvertedRules<T> {
  let problem: RouteProblem | undefined;
  const routes: T[] = [];
  const notes: string[] = [];
  try {
    for (const rule of rules) {
      const converted = convert(rule);
      problem = converted.problem ?? problem;
      routes.push(converted.route);
      notes.push(...converted.notes);
    }
  } catch (error) {
    return { routes: [], problem: problemOf(error), notes: [] };
  }
  return { routes, ...(problem !== undefined && { problem }), notes };
}

/** A destination that never exists: the API requires connections to be rejected where no backend has a weight. */
const nowhere = {
  destination: { host: "internal.cluster.local", subset: "zero-weight", port: { number: 65_535 } },
  weight: 0,
};

function destinationsOf(
  q: QueryContext,
  { backendRefs }: L4RouteRule,
  backendOf: (ref: RouteBackend["ref"]) => RouteBackend,
): Found & { readonly destinations: readonly RouteDestination[] } {
  if (weightSum(backendRefs) === 0)
    return { destinations: [create(RouteDestinationSchema, nowhere)], problem: undefined, notes: [] };
  let problem: RouteProblem | undefined;
  const notes: string[] = [];
  const destinations = weighted(backendRefs).map(({ backend, weight }) => {
    const { weight: _weight, ...ref } = backend;
    const resolved = q.call(resolvedBackend, backendOf(ref));
    if (resolved.problem !== undefined && resolved.isFatal) throw new InvalidRouteError(resolved.problem);
    problem = resolved.problem ?? problem;
    if (resolved.note !== undefined) notes.push(resolved.note);
    return create(RouteDestinationSchema, { destination: destinationMessage(resolved.destination), weight });
  });
  return { destinations, problem, notes };
}
