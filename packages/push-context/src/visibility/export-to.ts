/** Visibility of an object: public, or limited to the listed namespaces (none if the list is empty). */
export interface ExportScope {
  readonly everyone: boolean;
  /** Sorted and deduplicated; empty if public. */
  readonly namespaces: readonly string[];
}

/**
 * Returns the visibility that `exportTo` gives to an object of `namespace`: `*` makes it public regardless of other
 * entries, `~` hides it, and `.` is the object's own namespace. An empty list means public; callers substitute the
 * mesh's default first.
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

/** Reports whether an object is visible to a namespace; without a namespace, whether it is public. */
export function isExportedTo({ everyone, namespaces }: ExportScope, namespace: string | undefined): boolean {
  return everyone || (namespace !== undefined && namespaces.includes(namespace));
}
