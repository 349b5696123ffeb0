import type { Finding } from "@istiod/analysis";
import { envoyFilterKind, envoyFilters } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { EnvoyFilter_ApplyTo as ApplyTo } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { Proxy } from "@istiod/push-context";
import type { MeshClient } from "./mesh-client.js";
import { type PatchStatus, patchStatuses } from "./patch-statuses.js";

/**
 * Returns findings about the patches of EnvoyFilters that change nothing on the clients for which they are: those that
 * match none of their resources, and those that are skipped where they match. Validation tells of patches of
 * `BOOTSTRAP`, which no proxy gets.
 */
export function patchFindings(
  database: Pick<Database<Proxy>, "read">,
  clients: readonly MeshClient[],
): readonly Finding[] {
  return patchStatuses(clients).flatMap((status) => {
    const filter = database.read(envoyFilters, status.filter);
    const applyTo = filter?.spec.configPatches[status.index]?.applyTo;
    if (filter === undefined || applyTo === undefined || applyTo === ApplyTo.BOOTSTRAP) return [];
    const { group, kind } = envoyFilterKind;
    const { namespace, name } = filter;
    return faultsOf(status, ApplyTo[applyTo]).map((message) => ({
      code: "MESH0066" as const,
      analyzer: "envoyfilter.PatchEffectAnalyzer",
      origin: { group, kind, namespace, name, key: status.filter },
      path: ["spec", "configPatches", status.index],
      message,
    }));
  });
}

function faultsOf({ selected, proxies, resources, proxy, failures }: PatchStatus, applyTo: string): readonly string[] {
  if (resources + failures.length === 0)
    return [`matches no ${applyTo} of ${count(selected)}, such as ${proxy}, so that it changes nothing`];
  const others = proxies > 0 ? `; it is applied on ${proxies}` : "";
  return failures.map(
    (failure) =>
      `is skipped on ${failure.proxies} of ${selected} proxies, such as ${failure.proxy}: ${failure.reason}${others}`,
  );
}

function count(proxies: number): string {
  return proxies === 1 ? "the one proxy that it is for" : `the ${proxies} proxies that it is for`;
}
