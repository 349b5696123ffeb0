import { serviceEntryKind } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { scopedService, scopeOf, type ScopedService, scopeServices } from "@istiod/push-context";
import { type Resource, resource, ResourceSet } from "@istiod/resources";
import { configResources } from "./config-resources.js";
import { findConfigType } from "./config-type.js";
import { encodeConfig } from "./encode-config.js";
import { syntheticServiceEntry } from "./synthetic-service-entry.js";

/** The synthetic ServiceEntry of a service of the client's scope; undefined if a ServiceEntry declares the service. */
const syntheticResource = query(
  "syntheticServiceEntry",
  (q, scoped: ScopedService): Resource | undefined => {
    const service = q.call(scopedService, scoped);
    if (service === undefined || service.registry !== "Kubernetes") return undefined;
    const entry = syntheticServiceEntry(q, service);
    return resource(`${entry.namespace}/${entry.name}`, encodeConfig({ kind: serviceEntryKind, version: "v1" }, entry));
  },
  { key: (scoped) => JSON.stringify(scoped) },
);

/** The synthetic ServiceEntries of the Kubernetes Services in the client's scope. */
const syntheticResources = query("syntheticServiceEntries", (q): ResourceSet => {
  const entries = q.call(scopeServices, scopeOf(q)).map((scoped) => q.call(syntheticResource, scoped));
  return ResourceSet.of(entries.filter((entry): entry is Resource => entry !== undefined));
});

/**
 * The configuration objects of a type that a client is served: {@link configResources}, and among ServiceEntries a
 * synthetic one for each Kubernetes Service in its scope. A ServiceEntry of the same name takes precedence.
 */
export const servedConfig = query("servedConfig", (q, typeUrl: string): ResourceSet => {
  const declared = q.call(configResources, typeUrl);
  if (findConfigType(typeUrl)?.kind !== serviceEntryKind) return declared;
  const synthetic = q.call(syntheticResources);
  const names = new Set(declared.toArray().map(({ name }) => name));
  const isShadowed = [...names].some((name) => synthetic.get(name) !== undefined);
  if (!isShadowed) return ResourceSet.union([declared, synthetic]);
  return ResourceSet.union([declared, ResourceSet.of(synthetic.toArray().filter(({ name }) => !names.has(name)))]);
});
