import { readDiscovered, type SidecarObject, sidecars } from "@istiod/config-schema";
import { type Database, query, type View } from "@istiod/incremental";
import { type Proxy, scopeOf } from "@istiod/push-context";
import { objectsRead } from "../provenance/objects-read.js";
import type { Producer } from "../provenance/producer.js";
import { ignoredConfig, type IgnoredConfig, objectReference } from "./ignored-config.js";
import { selectsClient } from "./selects-client.js";

/** Returns the Sidecars that were considered for the client and do not apply to it. At most one Sidecar applies. */
export function ignoredSidecars(
  database: Database<Proxy>,
  view: View<Proxy>,
  { reads }: Producer,
): readonly IgnoredConfig[] {
  const candidates = objectsRead(reads).filter(({ kind, read }) => kind === "Sidecar" && read === "candidate");
  if (candidates.length === 0) return [];
  const applied = view.call(appliedSidecar);
  const details = applied === undefined ? {} : { overriddenBy: objectReference("Sidecar", applied) };
  return candidates.flatMap(({ key }) => {
    const sidecar = readDiscovered(database, sidecars, key);
    return sidecar === undefined || key === applied || !couldApply(view, sidecar)
      ? []
      : [ignoredConfig("Sidecar", key, reasonIgnored(view, sidecar, applied), details)];
  });
}

const appliedSidecar = query("explain.appliedSidecar", (q): string | undefined => scopeOf(q).sidecar);

function couldApply(view: View<Proxy>, { namespace, spec }: SidecarObject): boolean {
  return namespace !== view.client.namespace || view.call(selectsClient, { ...spec.workloadSelector?.labels });
}

function reasonIgnored(view: View<Proxy>, { namespace, spec }: SidecarObject, applied: string | undefined): string {
  const isInClientNamespace = namespace === view.client.namespace;
  if (!isInClientNamespace && spec.workloadSelector !== undefined)
    return "has a workloadSelector, which limits it to workloads in its own namespace";
  if (applied === undefined) return "does not apply to the client";
  if (!isInClientNamespace || namespace !== applied.slice(0, applied.indexOf("/")))
    return `is overridden by Sidecar ${applied} in the client's own namespace`;
  return `is overridden by Sidecar ${applied}: a Sidecar with a workloadSelector takes precedence, then the oldest`;
}
