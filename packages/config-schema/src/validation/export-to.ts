import { isDnsLabel } from "./network/names.js";
import type { Place } from "./place.js";

export interface ExportToRules {
  /** Allows `~`, which exports to no namespace; for ServiceEntries. */
  readonly nobodyAllowed?: boolean;
  /** Reports whether the object selects workloads of its own namespace. */
  readonly ownNamespaceOnly?: boolean;
}

/** Checks the namespaces that an object is exported to: `*` for all, `.` for its own. */
export function checkExportTo(
  exportTo: readonly string[],
  namespace: string,
  place: Place,
  { nobodyAllowed = false, ownNamespaceOnly = false }: ExportToRules = {},
): void {
  if (exportTo.length === 0) return;
  const seen = new Set<string>();
  for (const [i, entry] of exportTo.entries()) {
    const meant = entry === "." ? namespace : entry;
    if (seen.has(meant))
      place
        .at(i)
        .error(`is ${JSON.stringify(entry)}, which is there already${meant === entry ? "" : ` as ${namespace}`}`);
    else if (entry === "~" && nobodyAllowed) seen.add(meant);
    else if (entry !== "*" && meant !== "." && !isDnsLabel(meant))
      place
        .at(i)
        .error(
          `is ${JSON.stringify(entry)}, expected ${nobodyAllowed ? "*, ., ~" : "*, ."} or the name of a namespace`,
        );
    else seen.add(meant);
  }
  if (ownNamespaceOnly && seen.size > 0 && !(seen.size === 1 && seen.has(namespace)))
    place.error("exports beyond the object's own namespace, expected only . with a workloadSelector");
  if (exportTo.length > 1 && seen.has("*")) place.error("has * and others, expected * alone");
  if (exportTo.length > 1 && seen.has("~")) place.error("has ~ and others, expected ~ alone");
}
