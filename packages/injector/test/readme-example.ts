import { decideInjection, takeOverProbes, type Pod } from "@istiod/injector";

export function prepare(pod: Pod, namespace: string): Pod {
  const { inject } = decideInjection(pod, namespace, { policy: "enabled" });
  return inject ? takeOverProbes(pod, 15020).pod : pod;
}
