import { collection, query } from "@istiod/incremental";
import { cluster, verifiedAccount } from "../proxy/facts.js";

/**
 * The decision of a cluster on a service account that would list the Secrets of its namespace. `undecidable`: istiod
 * has no access to the cluster's API server, as for a cluster that it reads from a directory.
 */
export type SecretPermission = "allowed" | "denied" | "undecidable";

/** Decisions by {@link secretPermissionKey}. An input that access reviews outside of queries update. */
export const secretPermissions = collection<SecretPermission>("SecretPermission");

/** Clusters, by ID, whose proxies may be served Secrets: istiod's own, and those that it is connected to or reads. */
export const secretClusters = collection<true>("SecretCluster");

/** Present at the key `""` if proxies are served Secrets only with a permission, in the clusters above. */
export const secretPermissionRequired = collection<true>("SecretPermissionRequired");

/** A service account, authenticated, of a proxy in a cluster. */
export interface SecretReader {
  /** The cluster ID that the proxy's node metadata reports; empty if none. */
  readonly cluster: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** Returns the key of the decision on a service account. */
export function secretPermissionKey({ cluster, namespace, serviceAccount }: SecretReader): string {
  return `${cluster}/${namespace}/${serviceAccount}`;
}

/** The permission of the client to have Secrets of its namespace; undefined while it is not decided. */
export const ownSecretPermission = query("ownSecretPermission", (q): SecretPermission | undefined => {
  if (q.read(secretPermissionRequired, "") === undefined) return "allowed";
  const account = q.ask(verifiedAccount);
  return account && q.read(secretPermissions, secretPermissionKey(account));
});

/**
 * Reports whether the client is in a cluster that istiod knows. Others are served no Secrets, not even root
 * certificates. Source: `ForCluster` in pilot/pkg/credentials/kube/multicluster.go and pilot/pkg/xds/sds.go.
 */
export const isInSecretCluster = query(
  "isInSecretCluster",
  (q): boolean =>
    q.read(secretPermissionRequired, "") === undefined || q.read(secretClusters, q.ask(cluster)) !== undefined,
);
