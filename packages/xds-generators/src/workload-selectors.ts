import {
  destinationRules,
  envoyFilters,
  meshConfig,
  meshConfigKey,
  rejectedSidecars,
  sidecars,
  telemetries,
  trafficExtensions,
  wasmPlugins,
} from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { type Proxy, selectorMatches } from "@istiod/push-context";

type Labels = Readonly<Record<string, string>>;

interface Workload {
  readonly namespace: string;
  readonly labels: Labels;
}

/**
 * Returns a function that names the objects which select a workload by its labels and may change what its sidecar
 * sends: sidecars of one namespace and locality share their outbound configuration if it is equal. Policies of inbound
 * traffic do not count.
 */
export function outboundSelections(database: Database<Proxy>): (workload: Workload) => string {
  const root = database.read(meshConfig, meshConfigKey)?.rootNamespace ?? "";
  const byNamespace = selectorsByNamespace(database);
  return ({ namespace, labels }) =>
    [...new Set([root, namespace])]
      .map((owner) =>
        (byNamespace.get(owner) ?? []).flatMap((selector, i) => (selectorMatches(selector, labels) ? [i] : [])),
      )
      .join("/");
}

function selectorsByNamespace(database: Database<Proxy>): ReadonlyMap<string, readonly Labels[]> {
  const found = new Map<string, Labels[]>();
  const add = (namespace: string, labels: Labels | undefined): void => {
    if (labels === undefined || Object.keys(labels).length === 0) return;
    const known = found.get(namespace);
    if (known === undefined) found.set(namespace, [labels]);
    else known.push(labels);
  };
  for (const of of [sidecars, rejectedSidecars, envoyFilters])
    for (const { namespace, spec } of database.all<Selecting>(of)) add(namespace, spec.workloadSelector?.labels);
  for (const { namespace, spec } of database.all(destinationRules)) add(namespace, spec.workloadSelector?.matchLabels);
  for (const of of [telemetries, trafficExtensions, wasmPlugins])
    for (const { namespace, spec } of database.all<Attached>(of)) add(namespace, spec.selector?.matchLabels);
  return found;
}

interface Selecting {
  readonly namespace: string;
  readonly spec: { readonly workloadSelector?: { readonly labels: Labels } | undefined };
}

interface Attached {
  readonly namespace: string;
  readonly spec: { readonly selector?: { readonly matchLabels: Labels } | undefined };
}
