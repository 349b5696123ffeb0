/** Who may use an object: everyone, or the namespaces listed (none at all: the list is empty). */
export interface ExportScope {
  readonly everyone: boolean;
  /** Sorted, without repetition; empty where everyone may. */
  readonly namespaces: readonly string[];
}

/**
 * What `exportTo` means for an object of `namespace`: `*` is everyone whatever else is named, `~` nobody, `.` the
 * object's own namespace; an empty list is everyone (the caller puts the mesh's default in its place first).
 */
export function exportScope(exportTo: readonly string[], namespace: string): ExportScope {
  if (exportTo.length === 0 || exportTo.includes("*")) {
    return { everyone: true, namespaces: [] };
  }
  if (exportTo.includes("~")) {
    return { everyone: false, namespaces: [] };
  }
  const namespaces = new Set(exportTo.map((target) => (target === "." ? namespace : target)));
  return { everyone: false, namespaces: [...namespaces].sort() };
}

/** Whether clients of a namespace may use an object; without one, whether everyone may. */
export function isExportedTo({ everyone, namespaces }: ExportScope, namespace: string | undefined): boolean {
  return everyone || (namespace !== undefined && namespaces.includes(namespace));
}
