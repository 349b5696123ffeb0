import { clone } from "@bufbuild/protobuf";
import { type VirtualServiceObject, virtualServices } from "@istiod/config-schema";
import { gatewayApiVirtualService, isDerivedName, tlsRouteHostname } from "@istiod/gateway-api";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type HTTPRoute,
  type VirtualService,
  VirtualServiceSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { features } from "../mesh/features.js";
import { ingressVirtualService } from "../ingress/ingress-virtual-services.js";
import { mesh } from "../mesh/mesh-config.js";
import { exportScope, type ExportScope, isExportedTo } from "../visibility/export-to.js";
import { mergeDelegate } from "./delegates.js";
import { derivedFrom, type GatewayApiSource } from "./derived-from.js";
import { resolveNames } from "./resolve-names.js";

/**
 * Kind of object that a VirtualService was declared as or generated from. Precedence and matching differ between them.
 */
export type RouteSemantics = "virtual-service" | "ingress" | "gateway-api";

/** A part of a VirtualService that was ignored, and the reason. */
export interface RouteProblem {
  /** The object that is ignored, in whole or in part: `namespace/name`. */
  readonly object: string;
  readonly code: "delegate_not_found" | "delegate_not_exported" | "delegate_conflict" | "delegate_over_bound";
  readonly message: string;
}

/** A VirtualService with fully qualified names and with delegates merged. */
export interface ResolvedVirtualService {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly creationTimestamp: number;
  readonly semantics: RouteSemantics;
  /** Routes of the Gateway API that it stands for; none if it is declared or stands for Ingresses. */
  readonly derivedFrom: readonly GatewayApiSource[];
  /** The hostname of the TLSRoute that it stands for, which includes its host. */
  readonly declaredHost?: string;
  readonly spec: VirtualService;
  readonly exportedTo: ExportScope;
  /** The merged delegates, `namespace/name`. */
  readonly delegates: readonly string[];
  readonly problems: readonly RouteProblem[];
}

const semanticsAnnotation = "internal.istio.io/route-semantics";

/**
 * The VirtualService `namespace/name` with names resolved and delegates merged; undefined if it does not exist or is a
 * delegate (has no hosts).
 */
export const virtualService = query("virtualService", (q, key: string): ResolvedVirtualService | undefined => {
  const object = objectOf(q, key);
  if (object === undefined || object.spec.hosts.length === 0) {
    return undefined;
  }
  const semantics = semanticsOf(object);
  const spec = semantics === "gateway-api" ? object.spec : withResolvedNames(q, object);
  const sources = derivedFrom(object.annotations);
  const declaredHost = sources.some(({ kind }) => kind === "TLSRoute") ? q.call(tlsRouteHostname, key) : undefined;
  const base = {
    key,
    namespace: object.namespace,
    name: object.name,
    creationTimestamp: object.creationTimestamp,
    semantics,
    derivedFrom: sources,
    ...(declaredHost !== undefined && { declaredHost }),
    exportedTo: exportedTo(q, object),
  };
  if (semantics !== "virtual-service" || spec.http.every((route) => route.delegate === undefined)) {
    return { ...base, spec, delegates: [], problems: [] };
  }
  return { ...base, ...mergeDelegates(q, object, spec) };
});

/** Returns a VirtualService that is declared or stands for other objects. */
function objectOf(q: QueryContext, key: string): VirtualServiceObject | undefined {
  const derived = isDerivedName(key) ? q.call(gatewayApiVirtualService, key) : undefined;
  return derived ?? q.read(virtualServices, key) ?? q.call(ingressVirtualService, key);
}

/** A delegate: a VirtualService without hosts. */
const delegate = query("delegateVirtualService", (q, key: string) => {
  const object = q.read(virtualServices, key);
  if (object === undefined || object.spec.hosts.length > 0) {
    return undefined;
  }
  return { http: withResolvedNames(q, object).http, exportedTo: exportedTo(q, object) };
});

function mergeDelegates(
  q: QueryContext,
  root: VirtualServiceObject,
  spec: VirtualService,
): Pick<ResolvedVirtualService, "spec" | "delegates" | "problems"> {
  const http: HTTPRoute[] = [];
  const delegates: string[] = [];
  const problems: RouteProblem[] = [];
  const bound = features.maxRoutes(q);
  const hosts = spec.hosts.length;
  for (const [i, route] of spec.http.entries()) {
    if (route.delegate === undefined) {
      http.push(route);
      continue;
    }
    const key = `${route.delegate.namespace || root.namespace}/${route.delegate.name}`;
    const found = q.call(delegate, key);
    const problem = (code: RouteProblem["code"], text: string, object = `${root.namespace}/${root.name}`): void => {
      problems.push({
        object,
        code,
        message: `VirtualService ${root.namespace}/${root.name}: http[${i}].delegate: ${text}`,
      });
    };
    if (found === undefined) {
      problem("delegate_not_found", `there is no delegate VirtualService ${key} (without hosts); the route is ignored`);
      continue;
    }
    if (!isExportedTo(found.exportedTo, root.namespace)) {
      problem(
        "delegate_not_exported",
        `VirtualService ${key} is not exported to namespace ${root.namespace}; the route is ignored`,
      );
      continue;
    }
    const merged = mergeDelegate(route, found.http);
    for (const at of merged.conflicts) {
      problem(
        "delegate_conflict",
        `http[${at}] of VirtualService ${key} conflicts with the match of this route and is ignored`,
        key,
      );
    }
    const fitting = routesWithin(merged.routes, bound / hosts - matchesOf(http));
    if (fitting.length < merged.routes.length) {
      const all = matchesOf([...http, ...merged.routes]);
      const left = merged.routes.length - fitting.length;
      problem(
        "delegate_over_bound",
        `with VirtualService ${key}, ${hosts} hosts × ${all} matches = ${hosts * all} routes, of at most ${bound} (${features.maxRoutes.variable}); the last ${left} of its routes are ignored`,
      );
    }
    for (const route of fitting) http.push(route);
    delegates.push(key);
  }
  const out = clone(VirtualServiceSchema, spec);
  out.http = http;
  return { spec: out, delegates: [...new Set(delegates)], problems };
}

/** Returns the number of Envoy routes of some routes: each match has one. */
export function matchesOf(routes: readonly HTTPRoute[]): number {
  return routes.reduce((sum, { match }) => sum + Math.max(1, match.length), 0);
}

/** Returns the first routes that have at most a number of matches in all. */
function routesWithin(routes: readonly HTTPRoute[], matches: number): readonly HTTPRoute[] {
  let sum = 0;
  const end = routes.findIndex(({ match }) => (sum += Math.max(1, match.length)) > matches);
  return end < 0 ? routes : routes.slice(0, end);
}

function withResolvedNames(q: QueryContext, { namespace, spec }: VirtualServiceObject): VirtualService {
  return resolveNames(spec, { namespace, domain: features.domainSuffix(q) });
}

function exportedTo(q: QueryContext, { namespace, spec }: VirtualServiceObject): ExportScope {
  return exportScope(spec.exportTo.length > 0 ? spec.exportTo : mesh(q).defaultVirtualServiceExportTo, namespace);
}

function semanticsOf(object: VirtualServiceObject): RouteSemantics {
  switch (object.annotations[semanticsAnnotation]) {
    case "gateway":
      return "gateway-api";
    case "ingress":
      return "ingress";
    default:
      return "virtual-service";
  }
}
