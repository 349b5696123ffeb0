import { envoyFilters } from "@istiod/config-schema";
import type { Database, View } from "@istiod/incremental";
import { EnvoyFilter_ApplyTo as ApplyTo } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { Proxy } from "@istiod/push-context";
import { patchResults, type PatchResult } from "@istiod/xds-generators";
import type { MeshClient } from "./mesh-client.js";

/** The effect of a patch of an EnvoyFilter on the resources of connected proxies. */
export interface PatchStatus {
  /** The EnvoyFilter, `namespace/name`. */
  readonly filter: string;
  /** Index in `configPatches`. */
  readonly index: number;
  /** Number of proxies that the EnvoyFilter selects, and that the patch is for by their version and metadata. */
  readonly selected: number;
  /** Number of these proxies that have resources with the patch. */
  readonly proxies: number;
  /** Number of these resources, of all proxies. */
  readonly resources: number;
  /** Node ID of one of the selected proxies. */
  readonly proxy: string;
  /** The reasons why the patch is skipped where it matches. */
  readonly failures: readonly { readonly reason: string; readonly proxies: number; readonly proxy: string }[];
}

/** Returns what patches do to the resources of clients: those that are for any client, in the order of the clients. */
export function patchStatuses(clients: readonly MeshClient[]): readonly PatchStatus[] {
  const found = new Map<string, PatchStatus>();
  for (const { proxy, view } of clients) {
    for (const result of resultsOf(view)) {
      const key = `${result.filter}#${result.index}`;
      found.set(key, withResult(found.get(key), result, proxy.nodeId));
    }
  }
  return [...found.values()];
}

/** Returns the results of a client's patches; none if what is planned for it cannot be read. */
function resultsOf(view: View<Proxy>): readonly PatchResult[] {
  try {
    return view.call(patchResults);
  } catch {
    return [];
  }
}

function withResult(known: PatchStatus | undefined, result: PatchResult, proxy: string): PatchStatus {
  const { filter, index, resources, failures } = result;
  const before = known ?? { filter, index, selected: 0, proxies: 0, resources: 0, proxy, failures: [] };
  const reasons = new Map(before.failures.map((failure) => [failure.reason, failure]));
  for (const reason of failures) {
    const same = reasons.get(reason) ?? { reason, proxies: 0, proxy };
    reasons.set(reason, { ...same, proxies: same.proxies + 1 });
  }
  return {
    ...before,
    selected: before.selected + 1,
    proxies: before.proxies + Number(resources > 0),
    resources: before.resources + resources,
    failures: [...reasons.values()],
  };
}

/** Istio's names of what patches apply to. Source: pilot/pkg/networking/core/envoyfilter/monitoring.go. */
const patchTypes: Readonly<Partial<Record<ApplyTo, string>>> = {
  [ApplyTo.CLUSTER]: "cluster",
  [ApplyTo.LISTENER]: "listener",
  [ApplyTo.LISTENER_FILTER]: "listenerfilter",
  [ApplyTo.FILTER_CHAIN]: "filterchain",
  [ApplyTo.NETWORK_FILTER]: "networkfilter",
  [ApplyTo.HTTP_FILTER]: "httpfilter",
  [ApplyTo.ROUTE_CONFIGURATION]: "route",
  [ApplyTo.VIRTUAL_HOST]: "vhost",
  [ApplyTo.HTTP_ROUTE]: "route",
};

/** Labels of `pilot_envoy_filter_status`. */
export const patchStatusLabels = ["name", "patch", "result"] as const;

/**
 * Returns the samples of `pilot_envoy_filter_status`: 1 for each EnvoyFilter and kind of patch that is applied to a
 * resource, 0 for those that match none, and 1 with the result `error` for those that are skipped somewhere.
 */
export function patchStatusSamples(
  database: Pick<Database<Proxy>, "read">,
  statuses: readonly PatchStatus[],
): readonly { readonly value: number; readonly labels: Readonly<Record<string, string>> }[] {
  const samples = new Map<string, { value: number; labels: Readonly<Record<string, string>> }>();
  const add = (labels: Readonly<Record<string, string>>, value: number): void => {
    const key = JSON.stringify(labels);
    samples.set(key, { labels, value: Math.max(value, samples.get(key)?.value ?? 0) });
  };
  for (const { filter: name, index, proxies, failures } of statuses) {
    const applyTo = database.read(envoyFilters, name)?.spec.configPatches[index]?.applyTo ?? ApplyTo.INVALID;
    const patch = patchTypes[applyTo];
    if (patch === undefined) continue;
    add({ name, patch, result: "applied" }, Number(proxies > 0));
    if (failures.length > 0) add({ name, patch, result: "error" }, 1);
  }
  return [...samples.values()];
}
