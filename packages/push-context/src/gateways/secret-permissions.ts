import { collection, query } from "@istiod/incremental";
import { verifiedAccount } from "../proxy/facts.js";

/** The decision of a cluster on a service account that would list the Secrets of its namespace. */
export type SecretPermission = "allowed" | "denied";

/** Decisions by {@link secretPermissionKey}. An input that access reviews outside of queries update. */
export const secretPermissions = collection<SecretPermission>("SecretPermission");

/** Present at the key `""` if proxies are served Secrets only with a permission. */
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
