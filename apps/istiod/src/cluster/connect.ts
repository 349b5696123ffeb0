import { readFile, stat } from "node:fs/promises";
import { delimiter } from "node:path";
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

type ConnectionFlags = Pick<
  FlagValues,
  "kubeconfig" | "configDir" | "registries" | "kubernetesApiQPS" | "kubernetesApiBurst"
>;

/**
 * Returns the client of the cluster that istiod reads: that of --kubeconfig, otherwise of KUBECONFIG, otherwise the one
 * that it runs in. Returns undefined if there is none of them, or --registries does not name Kubernetes.
 *
 * @throws Error that names the flag or the file that cannot be used
 */
export async function connectCluster(
  { kubeconfig, configDir, registries, kubernetesApiQPS, kubernetesApiBurst }: ConnectionFlags,
  env: Environment,
): Promise<ApiClient | undefined> {
  const unknown = registries.find((name) => name !== "Kubernetes");
  if (unknown !== undefined) throw new Error(`--registries ${unknown}: is not supported, expected Kubernetes`);
  if (!registries.includes("Kubernetes")) {
    if (kubeconfig) throw new Error("--kubeconfig: has no effect, because --registries does not name Kubernetes");
    return undefined;
  }
  if (!(kubernetesApiQPS > 0)) throw new Error(`--kubernetesApiQPS ${kubernetesApiQPS}: expected a number above 0`);
  if (kubernetesApiBurst < 1) throw new Error(`--kubernetesApiBurst ${kubernetesApiBurst}: expected at least 1`);
  const isInPod = variables.clusterHost.read(env) !== "";
  // Outside of a Pod, KUBECONFIG may belong to a shell, whose cluster istiod must not write to unasked.
  const file = kubeconfig || (configDir === "" || isInPod ? await kubeconfigOfVariable(env) : undefined);
  if (file === undefined && !isInPod) return undefined;
  const access = file === undefined ? await ownPodAccess(env) : await readKubeconfig(file);
  return createApiClient(access, {
    userAgent: "istiod",
    qps: kubernetesApiQPS,
    burst: kubernetesApiBurst,
    // Its own cluster is near. Decompressing the lists would be a fifth of the CPU until istiod is ready.
    compression: false,
  });
}

/**
 * Returns the file that KUBECONFIG names; undefined if it does not exist or is empty, as where the chart mounts an
 * optional Secret.
 *
 * @throws Error if it names several files, or one that cannot be read
 */
async function kubeconfigOfVariable(env: Environment): Promise<string | undefined> {
  const file = variables.kubeconfig.read(env);
  if (file === "") return undefined;
  if (file.includes(delimiter)) throw new Error(`KUBECONFIG=${file}: several files are not supported, expected one`);
  try {
    return (await stat(file)).size === 0 ? undefined : file;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Error(`KUBECONFIG=${file}: ${message}`, { cause });
  }
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
