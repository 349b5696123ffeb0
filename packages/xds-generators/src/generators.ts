import type { Query } from "@istiod/incremental";
import type { ResourceSet } from "@istiod/resources";

/** The resources of each type that a client should have, by type URL. */
export const generators: Readonly<Record<string, Query<void, ResourceSet>>> = {};
