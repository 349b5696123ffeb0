import { readFile } from "node:fs/promises";
import {
  type ApiClient,
  type ClusterAccess,
  createApiClient,
  inClusterAccess,
  readKubeconfig,
} from "@istiod/kubernetes";
import type { Environment } from "@istiod/settings";
import type { FlagValues } from "../flags.js";
import { variables } from "../variables.js";

type ConnectionFlags = Pick<FlagValues, "kubeconfig" | "registries" | "kubernetesApiQPS" | "kubernetesApiBurst">;

/**
 * Returns the client of the cluster that istiod reads: that of --kubeconfig, otherwise the one that it runs in. Returns
 * undefined if there is neither, or --registries does not name Kubernetes.
 *
 * @throws Error that names the flag or the file that cannot be used
 */
export async function connectCluster(
  { kubeconfig, registries, kubernetesApiQPS, kubernetesApiBurst }: ConnectionFlags,
  env: Environment,
): Promise<ApiClient | undefined> {
  const unknown = registries.find((name) => name !== "Kubernetes");
  if (unknown !== undefined) throw new Error(`--registries ${unknown}: is not supported, expected Kubernetes`);
  if (!registries.includes("Kubernetes")) {
    if (kubeconfig) throw new Error("--kubeconfig: has no effect, because --registries does not name Kubernetes");
    return undefined;
  }
  if (!kubeconfig && !variables.clusterHost.read(env)) return undefined;
  const access = kubeconfig ? await readKubeconfig(kubeconfig) : await ownPodAccess(env);
  return createApiClient(access, { userAgent: "istiod", qps: kubernetesApiQPS, burst: kubernetesApiBurst });
}

/**
 * Returns the access by the service account of istiod's Pod.
 *
 * @throws Error if its token is not mounted, which no later attempt can change
 */
async function ownPodAccess(env: Environment): Promise<ClusterAccess> {
  const access = inClusterAccess(env);
  const { tokenFile } = access.user?.authProvider?.config as { readonly tokenFile: string };
  await readFile(tokenFile).catch((cause: unknown) => {
    throw new Error(
      `the cluster that istiod runs in: ${(cause as Error).message}; mount the token of istiod's service account, ` +
        'give --kubeconfig, or --registries "" to read no cluster',
      { cause },
    );
  });
  return access;
}
