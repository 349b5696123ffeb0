import type { PeerWorkload } from "@istiod/standard-metrics";
import type { Environment } from "@istiod/settings";
import type { Proxy } from "../proxy.js";
import { buildNodeMetadata } from "./metadata.js";

/** Returns the workload as its proxy introduces it to peers, and names it in metrics. */
export function peerWorkload({ proxy, env }: { readonly proxy: Proxy; readonly env: Environment }): PeerWorkload {
  const { config, addresses, podLabels, podAnnotations } = proxy;
  const { metadata, labels } = buildNodeMetadata({
    env,
    proxyConfig: config,
    addresses,
    ...(podLabels ? { podLabels } : {}),
    ...(podAnnotations ? { podAnnotations } : {}),
    version: "",
    statusPort: 0,
    prometheusPort: 0,
  });
  const text = (key: string): string => (typeof metadata[key] === "string" ? metadata[key] : "");
  return {
    workload: text("WORKLOAD_NAME"),
    namespace: text("NAMESPACE"),
    canonicalService: labels["service.istio.io/canonical-name"] ?? "",
    canonicalRevision: labels["service.istio.io/canonical-revision"] ?? "",
    cluster: text("CLUSTER_ID"),
    app: labels["app"] ?? "",
    version: labels["version"] ?? "",
  };
}
