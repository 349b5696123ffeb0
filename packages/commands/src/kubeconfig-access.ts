import { homedir } from "node:os";
import { join } from "node:path";
import { type ClusterAccess, readKubeconfig } from "@istiod/kubernetes";
import type { Environment } from "@istiod/settings";

/** The flags of commands that use a cluster as `kubectl` does. */
export interface KubeconfigFlags {
  /** Empty for KUBECONFIG or ~/.kube/config. */
  readonly kubeconfig: string;
  /** Empty for the current context. */
  readonly context: string;
}

/**
 * Returns the access that the kubeconfig gives.
 *
 * @throws Error if it cannot be read, or if KUBECONFIG names several files
 */
export async function kubeconfigAccess(flags: KubeconfigFlags, env: Environment): Promise<ClusterAccess> {
  const { kubeconfig, context } = flags;
  const named = env["KUBECONFIG"] ?? "";
  if (kubeconfig === "" && named.includes(":"))
    throw new Error("KUBECONFIG names several files, which are not merged here: give one by --kubeconfig");
  const file = kubeconfig || named || join(homedir(), ".kube", "config");
  return readKubeconfig(file, context === "" ? {} : { context });
}
