import type { QueryContext } from "@istiod/incremental";
import { features } from "../mesh/features.js";
import { inNamespace, label, proxyType, selects } from "../proxy/facts.js";

/** A policy as it says to whom it applies. */
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

/** The label of workloads that serve a Gateway of the Gateway API. */
const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

/**
 * Whether a policy of the client's namespace or of the root namespace applies to the client: by labels, or, for
 * gateways of the Gateway API only, by reference. Source: pilot/pkg/model/policyattachment.go.
 */
export function appliesToClient(q: QueryContext, policy: TargetedPolicy): boolean {
  const references =
    policy.targetRefs.length > 0 || policy.targetRef === undefined ? policy.targetRefs : [policy.targetRef];
  if (references.length === 0) {
    return (
      (mayUseSelectors(q) || q.ask(label, gatewayNameLabel) === undefined) && selects(q, policy.selector?.matchLabels)
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

function mayUseSelectors(q: QueryContext): boolean {
  return features.selectorBasedGatewayApiPolicy(q) && q.ask(proxyType) !== "waypoint";
}
