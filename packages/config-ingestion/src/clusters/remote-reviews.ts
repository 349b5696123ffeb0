import { type ApiClient, CachedReviews } from "@istiod/kubernetes";
import type { Ingestion } from "../ingestion/ingestion.js";
import type { SourceState } from "../ingestion/source-set.js";
import { RemoteClusterSource } from "./remote-cluster-source.js";

/**
 * Returns a function that returns the reviews of tokens and access by the remote clusters, by their IDs. They are asked
 * with the newest credentials, but while a cluster has not synced with these, with the former ones.
 */
export function remoteReviews(ingestion: Pick<Ingestion<never>, "states">): () => ReadonlyMap<string, CachedReviews> {
  const reviewsOf = new WeakMap<ApiClient, CachedReviews>();
  return () => {
    const reviews = new Map<string, CachedReviews>();
    for (const state of ingestion.states()) {
      const client = clientOf(state);
      if (client === undefined || state.source.cluster === undefined) continue;
      const known = reviewsOf.get(client) ?? new CachedReviews(client);
      reviewsOf.set(client, known);
      reviews.set(state.source.cluster, known);
    }
    return reviews;
  };
}

function clientOf({ source, sync, replacement }: SourceState): ApiClient | undefined {
  const used = sync.state === "synced" ? source : (replacement?.source ?? source);
  return used instanceof RemoteClusterSource ? used.client : undefined;
}
