import { type ApiClient, createApiClient } from "@istiod/kubernetes";
import type { Environment } from "@istiod/settings";
import { Option } from "commander";
import { kubeconfigAccess, type KubeconfigFlags } from "../kubeconfig-access.js";

/** The flags of `istioctl` that select a cluster and namespaces. */
export interface ClusterFlags extends KubeconfigFlags {
  readonly istioNamespace: string;
  readonly namespace?: string;
}

/** A cluster that a command works on. */
export interface Cluster {
  readonly client: ApiClient;
  /** Namespace of the control plane. */
  readonly istioNamespace: string;
  /** Namespace of the command: that of the flag, else of the kubeconfig's context, else `default`. */
  readonly namespace: string;
}

/** The streams of a command that works on a cluster, and its environment. */
export interface ClusterCommandOptions {
  /** The environment, with KUBECONFIG. */
  readonly env: Environment;
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly exit: (status: number) => void;
}

/** Returns the options for {@link ClusterFlags}. @param namespaceHelp help of --namespace */
export function clusterOptions(namespaceHelp = "namespace (default: that of the context)"): Option[] {
  return [
    new Option("-c, --kubeconfig <file>", "kubeconfig of the cluster (default: KUBECONFIG or ~/.kube/config)").default(
      "",
      "",
    ),
    new Option("--context <name>", "context of the kubeconfig (default: the current one)").default("", ""),
    new Option("-i, --istioNamespace <namespace>", "namespace of the control plane").default("istio-system"),
    new Option("-n, --namespace <namespace>", namespaceHelp),
  ];
}

/**
 * Connects to the cluster of the flags while a function uses it.
 *
 * @throws Error if the kubeconfig cannot be used; ApiError
 */
export async function withCluster<T>(
  flags: ClusterFlags,
  env: Environment,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const access = await kubeconfigAccess(flags, env);
  const client = createApiClient(access, { userAgent: "istiod" });
  try {
    return await use({
      client,
      istioNamespace: flags.istioNamespace,
      namespace: flags.namespace || access.namespace || "default",
    });
  } finally {
    client.close();
  }
}
