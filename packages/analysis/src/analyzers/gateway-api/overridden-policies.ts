import {
  type BackendTlsPolicyObject,
  backendTlsPolicies,
  backendTlsPolicyKind,
  type DestinationRuleObject,
} from "@istiod/config-schema";
import { targetsOfTlsPolicy, type TlsPolicyTarget } from "@istiod/gateway-api";
import { rulesForHost } from "@istiod/push-context";
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

function checkPolicy(policy: BackendTlsPolicyObject, context: AnalysisContext): void {
  const { namespace, name } = policy;
  for (const [i, target] of context.q.call(targetsOfTlsPolicy, `${namespace}/${name}`).entries())
    if (target.fault === undefined)
      for (const host of target.hosts) checkHost(policy, target, host, ["spec", "targetRefs", i], context);
}

/**
 * Reports rules that set TLS for a host, or apply instead of the policy. A policy is merged with rules of its
 * namespace, which keep what they set, whatever their age; clients for whom a rule of their own namespace applies have
 * no other.
 */
function checkHost(
  { namespace }: BackendTlsPolicyObject,
  { ref }: TlsPolicyTarget,
  host: string,
  path: readonly (string | number)[],
  { q, report }: AnalysisContext,
): void {
  for (const other of rulesForHost(q, host)) {
    if ("internal.istio.io/parents" in other.annotations) continue;
    const overrides = other.namespace === namespace ? tlsOf(other) : "replaces the policy";
    if (overrides === undefined) continue;
    const what = ref.sectionName === undefined ? ref.name : `port ${ref.sectionName} of ${ref.name}`;
    report(
      "MESH0065",
      path,
      `${what}: the policy does not apply ${clientsOf(other, namespace)}: DestinationRule ${other.namespace}/${other.name} ${overrides}, and takes precedence; remove one of the two`,
    );
  }
}

function clientsOf({ namespace, spec: { workloadSelector } }: DestinationRuleObject, own: string): string {
  if (workloadSelector !== undefined)
    return `to connections of workloads with ${formatSelector(workloadSelector.matchLabels)} in namespace ${namespace}`;
  return namespace === own ? `to connections to it` : `to connections of clients in namespace ${namespace}`;
}

/** Describes the TLS settings of a rule; undefined if it has none. */
function tlsOf({ spec: { trafficPolicy: policy } }: DestinationRuleObject): string | undefined {
  if (policy?.tls !== undefined) return "sets trafficPolicy.tls";
  const ports = (policy?.portLevelSettings ?? []).flatMap(({ port, tls }) =>
    tls && port ? [String(port.number)] : [],
  );
  return ports.length === 0 ? undefined : `sets tls for port ${listNames(ports)}`;
}
