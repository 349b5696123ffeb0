import { type RequestAuthenticationObject, requestAuthenticationsByNamespace } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { appliesToWorkload, rootNamespace, type TargetedPolicy } from "@istiod/push-context";
import { isInjected, type PodProfile, selectedPods } from "./pods.js";

const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

/** Returns the workloads with a proxy to which a policy applies. Targets other than gateways have none. */
export function workloadsOfPolicy(q: QueryContext, policy: TargetedPolicy): readonly PodProfile[] {
  const { namespace, selector } = policy;
  const within = namespace === rootNamespace(q) ? {} : { namespace };
  const pods = q.call(selectedPods, { ...within, labels: selector?.matchLabels ?? {} });
  return pods.filter((pod) => !pod.ambient && isInjected(q, pod) && appliesToWorkload(q, policy, pod));
}

/** Reports whether a workload is a gateway, whose ports are those of its listeners, whatever its Services declare. */
export function isGateway({ router, labels }: PodProfile): boolean {
  return router === true || labels[gatewayNameLabel] !== undefined;
}

/** Reports whether a RequestAuthentication applies to a workload. */
export function hasRequestAuthentication(q: QueryContext, pod: PodProfile): boolean {
  return requestAuthenticationsOf(q, pod).length > 0;
}

/** Returns the RequestAuthentications that apply to a workload. */
export function requestAuthenticationsOf(q: QueryContext, pod: PodProfile): readonly RequestAuthenticationObject[] {
  return [...new Set([rootNamespace(q), pod.namespace])]
    .flatMap((namespace) => q.read(requestAuthenticationsByNamespace, namespace))
    .filter(({ namespace, spec }) => appliesToWorkload(q, { ...spec, namespace }, pod));
}
