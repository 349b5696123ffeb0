import {
  type FieldPath,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
  virtualServicesByNamespace,
} from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import type { HTTPMatchRequest, HTTPRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { features, hostsOverlap, resolveHost } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { faultOfNamespace } from "../../queries/namespaces.js";
import { listNames } from "../../suggestions.js";
import { hasWorkload, hasWorkloadAnywhere, describesWorkloads } from "../../queries/workloads.js";

export const routeAnalyzer: Analyzer = {
  name: "mesh.RouteAnalyzer",
  description: "Checks for matches of VirtualServices that can never apply, and for delegates that do not exist",
  codes: ["MESH0004", "MESH0006", "MESH0014"],
  rules: [rule(virtualServiceKind, virtualServices, checkRoutes)],
};

function checkRoutes(object: VirtualServiceObject, context: AnalysisContext): void {
  const { http, tls, tcp } = object.spec;
  for (const [i, route] of http.entries()) {
    checkDelegate(route, ["spec", "http", i, "delegate"], object, context);
    for (const [j, match] of route.match.entries()) {
      checkSource(match, ["spec", "http", i, "match", j], object, context);
      checkAuthority(match, ["spec", "http", i, "match", j, "authority", "exact"], object, context);
    }
  }
  for (const [i, { match }] of tls.entries())
    for (const [j, found] of match.entries()) checkSource(found, ["spec", "tls", i, "match", j], object, context);
  for (const [i, { match }] of tcp.entries())
    for (const [j, found] of match.entries()) checkSource(found, ["spec", "tcp", i, "match", j], object, context);
}

/** Reports an authority that is not one of the hosts, whose requests do not get the routes of the VirtualService. */
function checkAuthority(
  { authority }: HTTPMatchRequest,
  path: FieldPath,
  { namespace, spec }: VirtualServiceObject,
  { q, report }: AnalysisContext,
): void {
  if (authority?.matchType.case !== "exact" || spec.hosts.length === 0) return;
  const name = authority.matchType.value.replace(/:\d+$/, "");
  const isMesh = spec.gateways.length === 0 || spec.gateways.includes("mesh");
  // Requests to a service may name its address.
  if (name === "" || (isMesh && /^[\d.]+$|[:[]/.test(name))) return;
  const isAmong = spec.hosts.some((host) => {
    const full = resolveHost(host, { namespace, domain: features.domainSuffix(q) });
    return hostsOverlap(host, name) || hostsOverlap(full, name) || (isMesh && full.startsWith(`${name}.`));
  });
  if (isAmong) return;
  report(
    "MESH0014",
    path,
    `authority ${JSON.stringify(authority.matchType.value)} never matches, because the routes are only for requests to the hosts of the VirtualService, ${listNames(spec.hosts)}; add it to hosts, or name one of them`,
  );
}

interface SourceMatch {
  readonly gateways: readonly string[];
  readonly sourceLabels: Readonly<Record<string, string>>;
  readonly sourceNamespace: string;
}

/** Checks the conditions of a match on the source of a request: gateways and workload labels. */
function checkSource(
  { gateways, sourceLabels, sourceNamespace }: SourceMatch,
  path: FieldPath,
  { spec }: VirtualServiceObject,
  { q, report }: AnalysisContext,
): void {
  const bound = spec.gateways.length === 0 ? ["mesh"] : spec.gateways;
  for (const [i, gateway] of gateways.entries()) {
    if (spec.hosts.length > 0 && !bound.includes(gateway))
      report(
        "MESH0014",
        [...path, "gateways", i],
        `gateway ${JSON.stringify(gateway)} is not among the gateways of the VirtualService (${bound.join(", ")}), so that the match never applies to it`,
      );
  }
  const fault = sourceNamespace === "" ? undefined : faultOfNamespace(q, sourceNamespace);
  if (fault !== undefined) return report("MESH0004", [...path, "sourceNamespace"], fault);
  if (Object.keys(sourceLabels).length === 0 || !q.call(describesWorkloads)) return;
  const found =
    sourceNamespace === ""
      ? q.call(hasWorkloadAnywhere, sourceLabels)
      : q.call(hasWorkload, { namespace: sourceNamespace, labels: sourceLabels });
  const labels = Object.entries(sourceLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
  if (!found)
    report(
      "MESH0014",
      [...path, "sourceLabels"],
      `no workload has the labels ${labels}, so that the match never applies`,
    );
}

function checkDelegate(
  { delegate }: HTTPRoute,
  path: FieldPath,
  object: VirtualServiceObject,
  { q, report }: AnalysisContext,
): void {
  if (delegate === undefined) return;
  const namespace = delegate.namespace || object.namespace;
  const target = q.read(virtualServices, `${namespace}/${delegate.name}`);
  if (target === undefined) {
    const candidates = q
      .read(virtualServicesByNamespace, namespace)
      .filter(({ spec }) => spec.hosts.length === 0)
      .map(({ name }) => name);
    const [nearest] = nearestNames(delegate.name, candidates, 1);
    report(
      "MESH0006",
      path,
      `VirtualService ${namespace}/${delegate.name} does not exist, so that the route is left out${nearest === undefined ? "" : `; did you mean ${JSON.stringify(nearest)}?`}`,
    );
  } else if (target.spec.hosts.length > 0) {
    report(
      "MESH0006",
      path,
      `VirtualService ${namespace}/${delegate.name} has hosts, so that nothing can be delegated to it; remove its hosts`,
    );
  }
}
