import { type PodObject, pods } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { type Proxy, workloadOfPod } from "@istiod/push-context";

/** Returns the Pods that `name.namespace` names: one Pod, or the Pods of a workload such as a Deployment. */
export function podsNamed(database: Database<Proxy>, text: string): readonly PodObject[] {
  const all = database.all(pods);
  const named = all.filter(({ name, namespace }) => `${name}.${namespace}` === text);
  if (named.length > 0) return named;
  return all
    .filter(({ namespace }) => text.endsWith(`.${namespace}`))
    .filter((pod) => `${workloadOfPod(database, pod)?.workloadName ?? pod.name}.${pod.namespace}` === text);
}
