import type { QueryContext } from "@istiod/incremental";
import { features } from "../mesh/features.js";
import { inNamespace, label, proxyType, selects } from "../proxy/facts.js";

/** The fields by which a policy selects workloads. */
export interface TargetedPolicy {
  readonly namespace: string;
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> } | undefined;
  readonly targetRef?: TargetReference | undefined;
  readonly targetRefs: readonly TargetReference[];
}

export interface TargetReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** Label of the workloads of a Gateway API Gateway. */
const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

/**
 * Reports whether a policy of the client's namespace or the root namespace applies to the client: by workload selector,
 * or by targetRefs for gateways of the Gateway API. Source: pilot/pkg/model/policyattachment.go.
 */
export function appliesToClient(q: QueryContext, policy: TargetedPolicy): boolean {
  const references =
    policy.targetRefs.length > 0 || policy.targetRef === undefined ? policy.targetRefs : [policy.targetRef];
  if (references.length === 0) {
    return (
      (selectorsApply(q) || q.ask(label, gatewayNameLabel) === undefined) && selects(q, policy.selector?.matchLabels)
    );
  }
  const gatewayName = q.ask(label, gatewayNameLabel);
  return references.some(
    ({ group, kind, name, namespace }) =>
      group === "gateway.networking.k8s.io" &&
      kind === "Gateway" &&
      name === gatewayName &&
      (namespace === "" || namespace === policy.namespace) &&
      q.ask(inNamespace, policy.namespace),
  );
}

function selectorsApply(q: QueryContext): boolean {
  return features.selectorBasedGatewayApiPolicy(q) && q.ask(proxyType) !== "waypoint";
}
