import { query } from "@istiod/incremental";
import { aliasedHost, aliasKeys, splitKey } from "@istiod/service-discovery";
import { isExportedTo } from "./export-to.js";
import { serviceHeader } from "./service-header.js";

/**
 * Maps the aliases (ExternalName services) that are visible to a namespace to the hosts that they stand for. Without a
 * namespace, only public ones.
 */
export const visibleAliases = query(
  "visibleAliases",
  (q, namespace: string | undefined): Readonly<Record<string, string>> =>
    Object.fromEntries(
      q.call(aliasKeys).flatMap((key) => {
        const [, alias] = splitKey(key);
        const host = q.call(aliasedHost, alias);
        const header = host === undefined ? undefined : q.call(serviceHeader, key);
        return host !== undefined && header !== undefined && isExportedTo(header.exportedTo, namespace)
          ? [[alias, host]]
          : [];
      }),
    ),
);
