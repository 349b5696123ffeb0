import {
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { resolveHost, servedSubsets, virtualService } from "@istiod/push-context";
import { discoverySettings, service, servicesByHostname } from "@istiod/service-discovery";
import { type AnalysisContext, type Rule, rule } from "../../analyzer.js";

/** Checks what the lists of several objects multiply to: parts beyond a bound are left out. */
export const productRules: readonly Rule[] = [
  rule(destinationRuleKind, destinationRules, checkSubsets),
  rule(virtualServiceKind, virtualServices, checkDelegates),
];

function checkSubsets({ namespace, spec }: DestinationRuleObject, { q, report }: AnalysisContext): void {
  if (spec.subsets.length === 0) return;
  const hostname = resolveHost(spec.host, { namespace, domain: discoverySettings.domain(q) });
  for (const id of q.call(servicesByHostname, hostname)) {
    const ports = q.call(service, id)?.ports.filter(({ protocol }) => protocol !== "UDP").length ?? 0;
    const { served, leftOut, reason } = servedSubsets(q, ports, spec);
    if (reason === undefined) continue;
    report(
      "MESH0020",
      ["spec", "subsets", served.length],
      `the last ${leftOut} subsets have no clusters: for ${hostname}, ${reason}; raise the variable, or use fewer subsets or ports`,
    );
    return;
  }
}

function checkDelegates({ namespace, name }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  const problems = q.call(virtualService, `${namespace}/${name}`)?.problems ?? [];
  for (const { code, message } of problems)
    if (code === "delegate_over_bound") report("MESH0020", ["spec", "http"], `routes are left out: ${message}`);
}
