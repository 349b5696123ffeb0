import type { KubeConfig } from "@kubernetes/client-node";
import type { ClusterAccess } from "../client/cluster-access.js";

/** Returns the configuration of the library that opens WebSockets to an API server. */
export async function kubeConfigOf({ cluster, user }: ClusterAccess): Promise<KubeConfig> {
  const library = await import("@kubernetes/client-node");
  const config = new library.KubeConfig();
  // The library refuses a server without TLS unless there is nothing to verify, which is so.
  const skipTLSVerify = cluster.skipTLSVerify || cluster.server.startsWith("http:");
  config.loadFromClusterAndUser({ ...cluster, skipTLSVerify }, user ?? { name: "nobody" });
  return config;
}

/** Returns the reason of a connection that did not become a WebSocket. */
export function reasonOfUpgrade(error: unknown): string {
  if (error instanceof Error) return error.message;
  const { message, type } = error as { readonly message?: string; readonly type?: string };
  return message || type || String(error);
}
