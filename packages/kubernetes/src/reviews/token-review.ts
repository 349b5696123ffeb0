import { ApiError } from "../api-error.js";
import type { ApiClient } from "../client/api-client.js";

/** A user as the API server knows it. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  /** Further information of the authenticator by key. */
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The pod and the node that a service account's token is bound to. */
export interface BoundObjects {
  readonly podName?: string;
  readonly podUid?: string;
  readonly nodeName?: string;
  readonly nodeUid?: string;
}

/** Result of a TokenReview. */
export type TokenReviewResult =
  | {
      readonly authenticated: true;
      readonly user: UserInfo;
      readonly boundTo: BoundObjects;
      /** Those of the requested audiences that the token has; without requested ones, the API server's. */
      readonly audiences: readonly string[];
    }
  | {
      readonly authenticated: false;
      /** Reason from the API server; absent if it gives none. */
      readonly error?: string;
    };

export interface TokenReviewRequest {
  readonly token: string;
  /** Accepted audiences, at least one. */
  readonly audiences: readonly string[];
}

/** An answer of the API server, where no field can be relied on. */
interface Answer {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly error?: string;
    readonly audiences?: readonly string[];
    readonly user?: Partial<UserInfo>;
  };
}

/**
 * Asks the API server to authenticate a token. A token that has none of the audiences is not authenticated, also if the
 * server ignores audiences.
 *
 * @throws ApiError if the review itself fails, `forbidden` without the permission to create TokenReviews, `invalid`
 *   without audiences: the server would accept tokens that are meant for itself only
 */
export async function reviewToken(
  client: ApiClient,
  { token, audiences }: TokenReviewRequest,
  signal?: AbortSignal,
): Promise<TokenReviewResult> {
  if (audiences.length === 0) throw new ApiError("invalid", "TokenReview: spec.audiences: at least one is required");
  const { status } = await client.json<Answer>({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    body: JSON.stringify({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token, audiences },
    }),
    ...(signal && { signal }),
  });
  return resultOf(status, audiences);
}

function resultOf(status: Answer["status"], wanted: readonly string[]): TokenReviewResult {
  if (status === undefined) throw new ApiError("malformed", "TokenReview: the answer has no status");
  if (status.error) return { authenticated: false, error: status.error };
  if (status.authenticated !== true) return { authenticated: false };
  const audiences = (status.audiences ?? []).filter((audience) => wanted.includes(audience));
  if (audiences.length === 0)
    return { authenticated: false, error: `the token has none of the audiences ${wanted.join(", ")}` };
  const { username, uid, groups = [], extra = {} } = status.user ?? {};
  if (!username) throw new ApiError("malformed", "TokenReview: status.user.username is missing");
  return {
    authenticated: true,
    user: { username, ...(uid !== undefined && { uid }), groups, extra },
    boundTo: boundObjects(extra),
    audiences,
  };
}

const boundKeys = {
  podName: "authentication.kubernetes.io/pod-name",
  podUid: "authentication.kubernetes.io/pod-uid",
  nodeName: "authentication.kubernetes.io/node-name",
  nodeUid: "authentication.kubernetes.io/node-uid",
} as const;

function boundObjects(extra: UserInfo["extra"]): BoundObjects {
  const entries = Object.entries(boundKeys).flatMap(([field, key]) => {
    const value = Object.hasOwn(extra, key) ? extra[key]?.[0] : undefined;
    return value ? [[field, value] as const] : [];
  });
  return Object.fromEntries(entries);
}
