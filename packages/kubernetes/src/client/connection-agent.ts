import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Cluster } from "@kubernetes/client-node";
import { ApiError } from "../api-error.js";
import type { TlsOptions } from "./credentials.js";

/** No limit on sockets: every watch occupies one. */
const keptAlive = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 16 };

/** Returns an agent that keeps connections alive, also through a proxy. */
export async function connectionAgent(cluster: Readonly<Cluster>, tls: TlsOptions): Promise<HttpAgent> {
  if (cluster.proxyUrl) return await proxyAgent(cluster, tls);
  const options = { ...keptAlive, timeout: 0 };
  return cluster.server.startsWith("https:") ? new HttpsAgent({ ...options, ...tls }) : new HttpAgent(options);
}

/** Returns the agent of `@kubernetes/client-node` for the cluster's proxy. */
async function proxyAgent(cluster: Readonly<Cluster>, tls: TlsOptions): Promise<HttpAgent> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ ...cluster, skipTLSVerify: cluster.skipTLSVerify }, { name: "proxy" });
  const options: { agent?: unknown } & TlsOptions = { ...tls };
  try {
    await config.applyToHTTPSOptions(options as Parameters<typeof config.applyToHTTPSOptions>[0]);
  } catch (error) {
    throw new ApiError("configuration", `cluster ${cluster.name}: proxy-url: ${(error as Error).message}`);
  }
  // The library has no option for it, and each request would open a tunnel.
  return Object.assign(options.agent as HttpAgent, keptAlive);
}
