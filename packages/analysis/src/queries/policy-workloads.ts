import { requestAuthenticationsByNamespace } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { rootNamespace } from "@istiod/push-context";
import { hasLabels } from "@istiod/service-discovery";
import { isInjected, type PodProfile, selectedPods } from "./pods.js";

const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

/** The fields by which a policy selects workloads. */
export interface SelectingPolicy {
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> } | undefined;
  readonly targetRef?: { readonly name: string } | undefined;
  readonly targetRefs: readonly { readonly name: string }[];
}

/** Returns the workloads with a proxy to which a policy applies. Targets other than gateways have none. */
export function workloadsOfPolicy(q: QueryContext, namespace: string, spec: SelectingPolicy): readonly PodProfile[] {
  const within = namespace === rootNamespace(q) ? {} : { namespace };
  const pods = q.call(selectedPods, { ...within, labels: spec.selector?.matchLabels ?? {} });
  return pods.filter((pod) => !pod.ambient && isInjected(q, pod) && appliesToWorkload(spec, pod));
}

/** Reports whether a policy of the workload's namespace or the root namespace applies to it. */
export function appliesToWorkload(spec: SelectingPolicy, { labels }: PodProfile): boolean {
  const targets = spec.targetRefs.length > 0 || spec.targetRef === undefined ? spec.targetRefs : [spec.targetRef];
  return targets.length === 0
    ? hasLabels(labels, spec.selector?.matchLabels ?? {})
    : targets.some(({ name }) => labels[gatewayNameLabel] === name);
}

/** Reports whether a workload is a gateway, whose ports are those of its listeners, whatever its Services declare. */
export function isGateway({ router, labels }: PodProfile): boolean {
  return router === true || labels[gatewayNameLabel] !== undefined;
}

/** Reports whether a RequestAuthentication applies to a workload. */
export function hasRequestAuthentication(q: QueryContext, pod: PodProfile): boolean {
  return [...new Set([rootNamespace(q), pod.namespace])]
    .flatMap((namespace) => q.read(requestAuthenticationsByNamespace, namespace))
    .some(({ spec }) => appliesToWorkload(spec, pod));
}
