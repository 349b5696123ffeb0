import { collection, type Query } from "@istiod/incremental";
import type { ResourceType } from "@istiod/kubernetes";
import type { Observed, Watch } from "../controller/controller.js";
import type { Discovery } from "../inputs/discovery.js";
import { type Revisioned, revisionTags } from "../inputs/revision-tags.js";

export interface OwnPoolsOptions {
  /** Revision of this istiod. */
  readonly revision: string;
  /** Namespace of istiod. */
  readonly systemNamespace: string;
  /** The only namespace. Default: all. */
  readonly namespace?: string;
  readonly discovered: Discovery;
}

/** The InferencePools of a cluster, by `namespace/name`. */
export const observedPools = collection<Observed<{ readonly revision: string | undefined }>>("InferencePool");

const poolType: ResourceType = {
  group: "inference.networking.k8s.io",
  version: "v1",
  kind: "InferencePool",
  plural: "inferencepools",
  namespaced: true,
};

/** Returns the watches of the InferencePools, and the query that tells which are of this istiod's revision. */
export function ownPools({ revision, systemNamespace, namespace, discovered }: OwnPoolsOptions): {
  readonly watches: readonly Watch[];
  readonly isMine: Query<Revisioned, boolean>;
} {
  const tags = revisionTags({ revision, systemNamespace, discovered });
  const pools: Watch<{ readonly revision: string | undefined }> = {
    type: poolType,
    collection: observedPools,
    fields: { metadata: { labels: true } },
    select: ({ metadata }) => ({ revision: metadata?.labels?.["istio.io/rev"] }),
    ...(namespace !== undefined && { namespace }),
  };
  return { watches: [discovered.watch, ...tags.watches, pools as Watch], isMine: tags.isMine };
}
