import { ApiError } from "../api-error.js";
import type { ApiClient } from "../client/api-client.js";
import { checkNamespace, type ObjectName } from "../object.js";
import { resourcePath, type ResourceType } from "../resource-type.js";

/** Type of service accounts. */
const serviceAccounts: ResourceType = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
};

export interface TokenRequestOptions {
  /** Default: the API server's. */
  readonly audiences?: readonly string[];
  /** Requested lifetime in seconds, at least 600. The server may shorten or extend it. Default: 3,600. */
  readonly expirationSeconds?: number;
  /** A Pod, Secret or Node whose deletion invalidates the token. */
  readonly boundTo?: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid?: string;
  };
  readonly signal?: AbortSignal;
}

/** A token of a service account. */
export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly expires: number;
}

/**
 * Requests a token of a service account.
 *
 * @throws ApiError, `not-found` if the account does not exist, `forbidden`, `malformed` if the answer has no token
 */
export async function requestToken(
  client: ApiClient,
  account: ObjectName,
  { audiences, expirationSeconds = 3600, boundTo, signal }: TokenRequestOptions = {},
): Promise<IssuedToken> {
  checkNamespace(serviceAccounts, account);
  const { status } = await client.json<{ readonly status?: { token?: string; expirationTimestamp?: string } }>({
    method: "POST",
    path: resourcePath(serviceAccounts, { ...account, subresource: "token" }),
    body: JSON.stringify({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences, expirationSeconds, boundObjectRef: boundTo },
    }),
    ...(signal && { signal }),
  });
  const expires = Date.parse(status?.expirationTimestamp ?? "");
  if (!status?.token || Number.isNaN(expires))
    throw new ApiError("malformed", "TokenRequest: the answer has no status.token with an expirationTimestamp");
  return { token: status.token, expires };
}
