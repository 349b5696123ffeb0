import { query, type QueryContext } from "@istiod/incremental";
import { declarationName, keyOfId, service, serviceOrder } from "@istiod/service-discovery";
import { type ExportScope, isExportedTo } from "./export-to.js";
import type { ScopedService } from "./scoped-service.js";
import { serviceHeader } from "./service-header.js";

/** Declarations of service keys whose declarations are not all exported to the same namespaces. */
const unequallyExported = query(
  "unequallyExportedServices",
  (q): Readonly<Record<string, readonly { readonly name: string; readonly exportedTo: ExportScope }[]>> => {
    const byKey = new Map<string, string[]>();
    for (const id of q.call(serviceOrder)) {
      const ids = byKey.get(keyOfId(id));
      if (ids === undefined) byKey.set(keyOfId(id), [id]);
      else ids.push(id);
    }
    const shared = [...byKey].filter(([, ids]) => ids.length > 1);
    const declared = shared.map(([key, ids]) => {
      const declarations = ids.flatMap((id) => {
        const [header, found] = [q.call(serviceHeader, id), q.call(service, id)];
        return header && found ? [{ name: declarationName(found), exportedTo: header.exportedTo }] : [];
      });
      return [key, declarations] as const;
    });
    return Object.fromEntries(
      declared.filter(([, each]) => new Set(each.map(({ exportedTo }) => JSON.stringify(exportedTo))).size > 1),
    );
  },
);

/**
 * Returns the declarations of a service's key that are not exported to a namespace, as a field of a scoped service; no
 * field if all are.
 */
export function hiddenDeclarations(
  q: QueryContext,
  id: string,
  namespace: string | undefined,
): Pick<ScopedService, "hidden"> {
  const declarations = q.call(unequallyExported)[keyOfId(id)] ?? [];
  const hidden = declarations.filter(({ exportedTo }) => !isExportedTo(exportedTo, namespace)).map(({ name }) => name);
  return hidden.length === 0 ? {} : { hidden: [...new Set(hidden)].sort() };
}
