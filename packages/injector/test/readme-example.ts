import { decideInjection, rewriteProbes, type Pod } from "@istiod/injector";

export function inject(pod: Pod, namespace: string): Pod {
  const decision = decideInjection(pod, namespace, { policy: "enabled" });
  return decision.inject ? rewriteProbes(pod, 15020).pod : pod;
}
