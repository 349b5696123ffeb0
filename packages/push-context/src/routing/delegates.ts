import { clone, create } from "@bufbuild/protobuf";
import {
  type HTTPMatchRequest,
  HTTPMatchRequestSchema,
  type HTTPRoute,
  HTTPRouteSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { matchesConflict } from "./match-conflict.js";

/** Routes of a delegate, merged into the delegating route. */
export interface DelegatedRoutes {
  readonly routes: readonly HTTPRoute[];
  /** Indexes of the delegate's routes that conflict with the root's match and were dropped. */
  readonly conflicts: readonly number[];
}

const inherited = [
  "rewrite",
  "directResponse",
  "timeout",
  "retries",
  "fault",
  "mirror",
  "mirrorPercent",
  "mirrorPercentage",
  "corsPolicy",
  "headers",
] as const satisfies readonly (keyof HTTPRoute)[];

/**
 * Merges the routes of a delegate into the root route: each match is combined with one of the root's, unset fields are
 * inherited, and names are joined as `root-delegate` (pilot/pkg/model/virtualservice.go, MergeHTTPRoutes).
 */
export function mergeDelegate(root: HTTPRoute, delegate: readonly HTTPRoute[]): DelegatedRoutes {
  const merged = delegate.map((route) => mergeRoute(root, route));
  return {
    routes: merged.filter((route) => route !== undefined),
    conflicts: merged.flatMap((route, i) => (route === undefined ? [i] : [])),
  };
}

function mergeRoute(root: HTTPRoute, delegate: HTTPRoute): HTTPRoute | undefined {
  const match = mergeMatches(root.match, delegate.match);
  if (match === undefined) {
    return undefined;
  }
  const out = clone(HTTPRouteSchema, delegate);
  out.match = [...match];
  out.name = joinNames(root.name, delegate.name);
  for (const field of inherited) {
    if (out[field] === undefined && root[field] !== undefined) {
      Object.assign(out, { [field]: root[field] });
    }
  }
  if (out.mirrors.length === 0) {
    out.mirrors = root.mirrors;
  }
  return out;
}

/**
 * Combines every match of the delegate with each match of the root that it does not conflict with; undefined if one
 * conflicts with all of them.
 */
function mergeMatches(
  root: readonly HTTPMatchRequest[],
  delegate: readonly HTTPMatchRequest[],
): readonly HTTPMatchRequest[] | undefined {
  if (root.length === 0 || delegate.length === 0) {
    return root.length === 0 ? delegate : root;
  }
  const perMatch = delegate.map((leaf) =>
    root.filter((candidate) => !matchesConflict(candidate, leaf)).map((candidate) => mergeMatch(candidate, leaf)),
  );
  return perMatch.every((merged) => merged.length > 0) ? perMatch.flat() : undefined;
}

function mergeMatch(root: HTTPMatchRequest, leaf: HTTPMatchRequest): HTTPMatchRequest {
  const first = <K extends "uri" | "scheme" | "method" | "authority">(field: K): Partial<Pick<HTTPMatchRequest, K>> => {
    const value = leaf[field] ?? root[field];
    return (value === undefined ? {} : { [field]: value }) as Partial<Pick<HTTPMatchRequest, K>>;
  };
  return create(HTTPMatchRequestSchema, {
    name: joinNames(root.name, leaf.name),
    ...first("uri"),
    ...first("scheme"),
    ...first("method"),
    ...first("authority"),
    headers: { ...root.headers, ...leaf.headers },
    withoutHeaders: { ...root.withoutHeaders, ...leaf.withoutHeaders },
    queryParams: { ...root.queryParams, ...leaf.queryParams },
    port: leaf.port || root.port,
    sourceLabels: { ...root.sourceLabels, ...leaf.sourceLabels },
    sourceNamespace: leaf.sourceNamespace || root.sourceNamespace,
    gateways: leaf.gateways.length > 0 ? leaf.gateways : root.gateways,
    ignoreUriCase: leaf.ignoreUriCase,
    statPrefix: leaf.statPrefix || root.statPrefix,
  });
}

function joinNames(root: string, delegate: string): string {
  return root === "" || delegate === "" ? root || delegate : `${root}-${delegate}`;
}
