import type { Query } from "@istiod/incremental";
import type { Resource, ResourceSet } from "@istiod/resources";
import { clusters } from "./clusters/index.js";

/** The resources of each type that a client should have, by type URL. */
export const generators: Readonly<Record<string, Query<void, ResourceSet>>> = {
  "type.googleapis.com/envoy.config.cluster.v3.Cluster": clusters,
};

/** Resources that a client may ask for by name although they are not in its set, by type URL. */
export const lookups: Readonly<Record<string, Query<string, Resource | undefined>>> = {};
