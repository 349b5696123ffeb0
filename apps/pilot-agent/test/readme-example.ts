import { readOptions, startAgent, stderrLog } from "@istiod/pilot-agent";

/** Runs the proxy of a workload with the files in `directory`, on its own loopback address. */
export async function runProxy(
  directory: string,
  address: string,
  istiod: string,
  env: Record<string, string>,
): Promise<() => Promise<void>> {
  const proxyConfig = JSON.stringify({ discoveryAddress: istiod, concurrency: 1, terminationDrainDuration: "0s" });
  const settings = { ...env, INSTANCE_IP: address, AGENT_BIND_ADDRESS: address, PROXY_CONFIG: proxyConfig };
  const options = readOptions({ directory }, settings);
  const agent = await startAgent({ type: "sidecar", options, env: settings, log: stderrLog("warn", false) });
  return () => agent.terminate();
}
