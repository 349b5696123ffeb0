import type { Finding } from "@istiod/analysis";
import type { View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { type UnservedProvider, unservedProviders } from "@istiod/xds-generators";
import { originOfProvider } from "../ignored/unserved-providers.js";
import type { MeshClient } from "./mesh-client.js";

interface Unserved {
  readonly provider: UnservedProvider;
  /** Number of proxies for which the provider has no effect for this reason. */
  readonly proxies: number;
  /** Node ID of one of them. */
  readonly proxy: string;
}

/**
 * Returns findings about extension providers for traces and logs that have no effect on clients, because these lack the
 * cluster of the provider. Those whose service nobody has are findings of the mesh: `MESH0052`.
 */
export function providerFindings(clients: readonly MeshClient[]): readonly Finding[] {
  const found = new Map<string, Unserved>();
  for (const { proxy, view } of clients)
    for (const provider of unservedOf(view)) {
      if (provider.isUnknown) continue;
      const key = JSON.stringify([provider.telemetry, provider.path, provider.reason]);
      const known = found.get(key);
      found.set(key, { provider, proxies: (known?.proxies ?? 0) + 1, proxy: known?.proxy ?? proxy.nodeId });
    }
  return Array.from(found.values(), ({ provider, proxies, proxy }) => ({
    code: "MESH0068",
    analyzer: "telemetry.ProviderClusterAnalyzer",
    origin: originOfProvider(provider),
    path: provider.path,
    message: `provider ${JSON.stringify(provider.provider)} has no effect on ${count(proxies)}, such as ${proxy}: ${provider.reason}`,
  }));
}

/** Returns the providers without effect on a client; none if what is planned for it cannot be read. */
function unservedOf(view: View<Proxy>): readonly UnservedProvider[] {
  try {
    return view.call(unservedProviders);
  } catch {
    return [];
  }
}

function count(proxies: number): string {
  return proxies === 1 ? "one proxy" : `${proxies} proxies`;
}
