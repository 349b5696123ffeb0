import { execInPod } from "@istiod/kubernetes";
import type { Environment } from "@istiod/settings";
import { kubeconfigAccess } from "../kubeconfig-access.js";
import { type ClusterFlags, withCluster } from "./cluster.js";
import { type Pod, podOf } from "./pod-of.js";

/** Requests the admin interface of an Envoy. @throws Error that names the Pod or the URL */
export type EnvoyAdmin = (method: "GET" | "POST", path: string) => Promise<string>;

/** The Envoy of a Pod. */
export interface PodEnvoy {
  readonly pod: Pod;
  readonly admin: EnvoyAdmin;
}

/**
 * Returns the Envoy of the Pod that a name stands for. It is asked by its agent, as Envoy answers its own Pod only:
 * `pilot-agent request` in the container `istio-proxy`, which needs the permission to execute commands in Pods.
 *
 * @throws Error if there is no such Pod, or none with a proxy; ApiError
 */
export async function podEnvoy(flags: ClusterFlags, env: Environment, name: string): Promise<PodEnvoy> {
  const access = await kubeconfigAccess(flags, env);
  const pod = await withCluster(flags, env, (cluster) => podOf(cluster, name));
  const { namespace, name: podName } = pod.metadata;
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const container = containers.find((each) => each.name === "istio-proxy")?.name;
  if (container === undefined) throw new Error(`Pod ${namespace}/${podName}: has no container istio-proxy`);
  return {
    pod,
    admin: async (method, path) => {
      const command = ["pilot-agent", "request", method, path];
      return (await execInPod(access, { namespace, pod: podName, container, command })).stdout;
    },
  };
}
