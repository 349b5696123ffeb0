import {
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  serviceEntries,
  serviceEntryKind,
  type ServiceEntryObject,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import {
  policyOverBound,
  resolveHost,
  routedServers,
  servedSubsets,
  virtualService,
  wildcardSubsets,
} from "@istiod/push-context";
import {
  discoverySettings,
  isWildcardHost,
  servedWorkloads,
  service,
  servicesByHostname,
} from "@istiod/service-discovery";
import { type AnalysisContext, type Rule, rule } from "../../analyzer.js";

/** Checks what the lists of several objects multiply to: parts beyond a bound are left out. */
export const productRules: readonly Rule[] = [
  rule(destinationRuleKind, destinationRules, checkRule),
  rule(virtualServiceKind, virtualServices, checkRoutes),
  rule(serviceEntryKind, serviceEntries, checkWorkloads),
];

function checkWorkloads({ namespace, name, spec }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  if (spec.workloadSelector === undefined) return;
  const { leftOut, reason } = q.call(servedWorkloads, `${namespace}/${name}`);
  if (reason === undefined) return;
  report(
    "MESH0020",
    ["spec", "workloadSelector"],
    `the last ${leftOut} workloads, by name, are no endpoints: ${reason}; raise the variable, or use fewer hosts, ports or addresses`,
  );
}

function checkRule(object: DestinationRuleObject, context: AnalysisContext): void {
  const { namespace, spec } = object;
  const { q, report } = context;
  if (isWildcardHost(spec.host)) return checkWildcardRule(object, context);
  const hostname = resolveHost(spec.host, { namespace, domain: discoverySettings.domain(q) });
  for (const id of q.call(servicesByHostname, hostname)) {
    const covered = q.call(service, id);
    if (covered === undefined) continue;
    const ports = covered.ports.filter(({ protocol }) => protocol !== "UDP").length;
    const { reasonWithoutClusters, served, leftOut, reason } = servedSubsets(
      q,
      { ports, namespace: covered.namespace },
      { namespace, spec },
    );
    if (reasonWithoutClusters !== undefined)
      return report("MESH0020", ["spec", "trafficPolicy"], noClusters(hostname, reasonWithoutClusters));
    if (reason === undefined) continue;
    report(
      "MESH0020",
      ["spec", "subsets", served.length],
      `the last ${leftOut} subsets have no clusters: for ${hostname}, ${reason}; raise the variable, or use fewer subsets or ports`,
    );
    return;
  }
}

/**
 * Checks a rule for all services that it covers. Those of its namespace are counted for themselves, and those of other
 * namespaces together with them, so these may lack what those have.
 */
function checkWildcardRule({ namespace, spec }: DestinationRuleObject, { q, report }: AnalysisContext): void {
  const { host, subsets } = spec;
  for (const counted of [namespace, undefined]) {
    const services = counted === undefined ? `${host} outside of namespace ${namespace}` : host;
    const reasonWithoutClusters = policyOverBound(q, { ports: 0, namespace: counted }, { namespace, spec });
    if (reasonWithoutClusters !== undefined)
      return report("MESH0020", ["spec", "trafficPolicy"], noClusters(services, reasonWithoutClusters));
    const { count, reason } = wildcardSubsets(q, { host, subsets: subsets.length, namespace: counted });
    if (reason === undefined) continue;
    const where = counted === undefined ? ` of services outside of namespace ${namespace}` : "";
    return report(
      "MESH0020",
      ["spec", "subsets", count],
      `the last ${subsets.length - count} subsets${where} have no clusters: ${reason}; raise the variable, or use fewer subsets`,
    );
  }
}

function noClusters(host: string, reason: string): string {
  return `requests to ${host} fail, as it has no clusters: ${reason}; raise the variable, or use a smaller policy or fewer ports`;
}

function checkRoutes(object: VirtualServiceObject, context: AnalysisContext): void {
  checkDelegates(object, context);
  const { q, report } = context;
  const virtualService = `${object.namespace}/${object.name}`;
  for (const [i, name] of object.spec.gateways.entries()) {
    const gateway = name.includes("/") ? name : `${object.namespace}/${name}`;
    const { count, reason } = q.call(routedServers, { gateway, virtualService });
    if (reason !== undefined)
      report(
        "MESH0020",
        ["spec", "gateways", i],
        `servers[${count}] of Gateway ${gateway} and those after it lack its routes: ${reason}; raise the variable, or use fewer servers, hosts or matches`,
      );
  }
}

function checkDelegates({ namespace, name, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  if (spec.http.every(({ delegate }) => delegate === undefined)) return;
  const problems = q.call(virtualService, `${namespace}/${name}`)?.problems ?? [];
  for (const { code, message } of problems)
    if (code === "delegate_over_bound") report("MESH0020", ["spec", "http"], `routes are left out: ${message}`);
}
