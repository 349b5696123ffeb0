import {
  type BackendTlsPolicyObject,
  backendTlsPolicies,
  backendTlsPolicyKind,
  type DestinationRuleObject,
} from "@istiod/config-schema";
import { targetsOfTlsPolicy, tlsOfPolicy } from "@istiod/gateway-api";
import { type TlsOverride, tlsOverrides } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { formatSelector } from "../../queries/pods.js";
import { listNames } from "../../suggestions.js";

/** Checks for policies of the Gateway API that DestinationRules override, of which their status says nothing. */
export const overriddenPolicyAnalyzer: Analyzer = {
  name: "k8sgateway.OverriddenPolicyAnalyzer",
  description: "Checks for BackendTLSPolicies whose settings DestinationRules of the same host override",
  codes: ["MESH0065"],
  rules: [rule(backendTlsPolicyKind, backendTlsPolicies, checkPolicy)],
};

/**
 * Reports rules because of which a policy does not apply. A policy is merged with rules of its namespace and host,
 * which keep what they set, whatever their age; clients for whom a rule of their own namespace applies have no other.
 */
function checkPolicy({ namespace, name }: BackendTlsPolicyObject, { q, report }: AnalysisContext): void {
  const key = `${namespace}/${name}`;
  const tls = q.call(tlsOfPolicy, key)?.settings;
  if (tls === undefined) return;
  for (const [i, { ref, hosts, ports, fault }] of q.call(targetsOfTlsPolicy, key).entries()) {
    if (fault !== undefined) continue;
    const what = ref.sectionName === undefined ? ref.name : `port ${ref.sectionName} of ${ref.name}`;
    for (const override of hosts.flatMap((host) => tlsOverrides(q, { host, namespace, ports, tls })))
      report(
        "MESH0065",
        ["spec", "targetRefs", i],
        `${what}: the policy does not apply ${clientsOf(override.rule, namespace)}: DestinationRule ${override.rule.namespace}/${override.rule.name} ${effectOf(override, namespace)}, and takes precedence; remove one of the two`,
      );
  }
}

function clientsOf({ namespace, spec: { workloadSelector } }: DestinationRuleObject, own: string): string {
  if (workloadSelector !== undefined)
    return `to connections of workloads with ${formatSelector(workloadSelector.matchLabels)} in namespace ${namespace}`;
  return namespace === own ? `to connections to it` : `to connections of clients in namespace ${namespace}`;
}

/** Describes what a rule does to a policy of a namespace, as a predicate. */
function effectOf({ rule: { namespace, spec }, ports }: TlsOverride, own: string): string {
  if (namespace !== own) return "replaces the policy";
  const settings = (spec.trafficPolicy?.portLevelSettings ?? []).filter(({ port }) =>
    ports.includes(port?.number ?? 0),
  );
  if (settings.length < ports.length && spec.trafficPolicy?.tls !== undefined) return "sets trafficPolicy.tls";
  const withTls = settings.filter(({ tls }) => tls !== undefined);
  const named = listNames((withTls.length > 0 ? withTls : settings).map(({ port }) => String(port?.number)));
  return withTls.length > 0 ? `sets tls for port ${named}` : `has settings without tls for port ${named}`;
}
