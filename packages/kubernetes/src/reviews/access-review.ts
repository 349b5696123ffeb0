import { ApiError } from "../api-error.js";
import type { ApiClient } from "../client/api-client.js";
import type { UserInfo } from "./token-review.js";

/** An action on objects. */
export interface ResourceAccess {
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  /** Default: all versions. */
  readonly version?: string;
  /** Plural name, for example `secrets`. */
  readonly resource: string;
  readonly subresource?: string;
  /** Default: all namespaces. */
  readonly namespace?: string;
  /** Default: all names. */
  readonly name?: string;
}

/** An action on a path that belongs to no object. */
export interface PathAccess {
  readonly verb: string;
  readonly path: string;
}

/** An action that a user may or may not perform. */
export type Access = ResourceAccess | PathAccess;

/** Result of an access review. */
export interface AccessReviewResult {
  readonly allowed: boolean;
  /** Reason from the authorizer, for messages. */
  readonly reason?: string;
  /** Failure of a part of the authorizers. `allowed` is valid nevertheless. */
  readonly evaluationError?: string;
}

/**
 * Asks the API server whether a user may perform an action.
 *
 * @throws ApiError if the review itself fails, `forbidden` without the permission to create SubjectAccessReviews
 */
export async function reviewSubjectAccess(
  client: ApiClient,
  user: Pick<UserInfo, "username"> & Partial<UserInfo>,
  access: Access,
  signal?: AbortSignal,
): Promise<AccessReviewResult> {
  const { username, uid, groups, extra } = user;
  return review(client, "SubjectAccessReview", { user: username, uid, groups, extra, ...attributes(access) }, signal);
}

/**
 * Asks the API server whether the client itself may perform an action.
 *
 * @throws ApiError if the review itself fails
 */
export async function reviewSelfAccess(
  client: ApiClient,
  access: Access,
  signal?: AbortSignal,
): Promise<AccessReviewResult> {
  return review(client, "SelfSubjectAccessReview", attributes(access), signal);
}

function attributes(access: Access): object {
  return "path" in access ? { nonResourceAttributes: access } : { resourceAttributes: access };
}

async function review(
  client: ApiClient,
  kind: "SubjectAccessReview" | "SelfSubjectAccessReview",
  spec: object,
  signal: AbortSignal | undefined,
): Promise<AccessReviewResult> {
  const { status } = await client.json<{
    readonly status?: { allowed?: boolean; denied?: boolean; reason?: string; evaluationError?: string };
  }>({
    method: "POST",
    path: `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    body: JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind, spec }),
    ...(signal && { signal }),
  });
  if (typeof status?.allowed !== "boolean")
    throw new ApiError("malformed", `${kind}: the answer has no status.allowed`);
  const { allowed, denied, reason, evaluationError } = status;
  return {
    allowed: allowed && denied !== true,
    ...(reason && { reason }),
    ...(evaluationError && { evaluationError }),
  };
}
