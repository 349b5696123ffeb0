import type { QueryContext } from "@istiod/incremental";
import { features } from "../mesh/features.js";
import { inNamespace, label, proxyType, selects } from "../proxy/facts.js";
import { selectorMatches } from "../proxy/labels.js";

/** The fields by which a policy selects workloads. */
export interface TargetedPolicy {
  readonly namespace: string;
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> } | undefined;
  readonly targetRef?: TargetReference | undefined;
  readonly targetRefs?: readonly TargetReference[] | undefined;
}

export interface TargetReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** Label of the workloads of a Gateway API Gateway. */
const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

/** A workload, as far as the attachment of policies depends on it. */
export interface AttachedWorkload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Questions about a client or workload. Each answer that is used is a dependency. */
interface Subject {
  readonly gatewayName: () => string | undefined;
  readonly isWaypoint: () => boolean;
  readonly isIn: (namespace: string) => boolean;
  readonly hasLabels: (labels: Readonly<Record<string, string>> | undefined) => boolean;
}

/**
 * Reports whether a policy of the client's namespace or the root namespace applies to the client: by workload selector,
 * or by targetRefs for gateways of the Gateway API. Source: pilot/pkg/model/policyattachment.go.
 */
export function appliesToClient(q: QueryContext, policy: TargetedPolicy): boolean {
  return applies(q, policy, {
    gatewayName: () => q.ask(label, gatewayNameLabel),
    isWaypoint: () => q.ask(proxyType) === "waypoint",
    isIn: (namespace) => q.ask(inNamespace, namespace),
    hasLabels: (labels) => selects(q, labels),
  });
}

/**
 * Reports whether a policy of the workload's namespace or the root namespace applies to the proxy of a workload that is
 * no waypoint.
 */
export function appliesToWorkload(
  q: QueryContext,
  policy: TargetedPolicy,
  { namespace, labels }: AttachedWorkload,
): boolean {
  return applies(q, policy, {
    gatewayName: () => labels[gatewayNameLabel],
    isWaypoint: () => false,
    isIn: (other) => other === namespace,
    hasLabels: (selector) => selectorMatches(selector ?? {}, labels),
  });
}

function applies(q: QueryContext, policy: TargetedPolicy, subject: Subject): boolean {
  const { targetRef, targetRefs = [] } = policy;
  const references = targetRefs.length > 0 || targetRef === undefined ? targetRefs : [targetRef];
  if (references.length === 0) {
    const isSelectable =
      (features.selectorBasedGatewayApiPolicy(q) && !subject.isWaypoint()) || subject.gatewayName() === undefined;
    return isSelectable && subject.hasLabels(policy.selector?.matchLabels);
  }
  const gatewayName = subject.gatewayName();
  return references.some(
    ({ group, kind, name, namespace }) =>
      group === "gateway.networking.k8s.io" &&
      kind === "Gateway" &&
      name === gatewayName &&
      (namespace === "" || namespace === policy.namespace) &&
      subject.isIn(policy.namespace),
  );
}
