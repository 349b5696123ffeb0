import type { CachedReviews, TokenReviewRequest, TokenReviewResult } from "@istiod/kubernetes";
import { reasonOf } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { type Authenticator, bearerToken, type BoundPod, type Caller, type Credentials } from "./authenticator.js";
import { identityOfSubject, spiffeUri } from "./spiffe-identity.js";

/** TokenReviews of one cluster. */
export type TokenReviews = Pick<CachedReviews, "token">;

export interface KubernetesTokensOptions {
  /** Name of the cluster that istiod runs in. */
  readonly clusterId: string;
  /** TokenReviews of that cluster. */
  readonly reviews: TokenReviews;
  /** Names of clusters by their aliases, from `--clusterAliases`. */
  readonly clusterAliases?: Readonly<Record<string, string>>;
  /** TokenReviews of the connected remote clusters by their names, at this moment. */
  readonly remoteReviews?: () => ReadonlyMap<string, TokenReviews>;
  /** Accepted audiences, from `TOKEN_AUDIENCES`. Default: `istio-ca`. */
  readonly audiences?: readonly string[];
  readonly trustDomain: string;
}

/** Header or gRPC metadata in which agents name their cluster. */
const clusterHeader = "clusterid";

const serviceAccountGroup = "system:serviceaccounts";

/**
 * Accepts service-account tokens that the API server of the caller's cluster authenticates for one of the audiences.
 * The caller names its cluster in the header `clusterid`; without it, the local cluster is asked. Legacy tokens without
 * an audience are accepted only if an API server's own audience is among the accepted ones.
 *
 * @throws CaError `malformed` without audiences
 */
export function kubernetesTokens(options: KubernetesTokensOptions): Authenticator {
  const { audiences = ["istio-ca"], trustDomain } = options;
  if (audiences.length === 0)
    throw new CaError("malformed", "audiences of Kubernetes tokens: at least one is required");
  return {
    name: "Kubernetes token",
    async authenticate(credentials) {
      const token = bearerToken(credentials);
      if (token === undefined) return undefined;
      const cluster = clusterOf(credentials);
      const { result, id } = await review({ token, audiences }, cluster, options);
      return callerOf(result, { cluster, id, trustDomain, by: this.name });
    },
  };
}

function clusterOf(credentials: Credentials): string {
  return credentials.header(clusterHeader) ?? "";
}

/**
 * Reviews a token. Replacing the credentials for a cluster closes the connections of the former ones: a review that
 * fails meanwhile is repeated with the new ones.
 */
async function review(
  request: TokenReviewRequest,
  cluster: string,
  options: KubernetesTokensOptions,
): Promise<{ readonly result: TokenReviewResult; readonly id: string }> {
  for (;;) {
    const { reviews, id } = reviewsOf(cluster, options);
    try {
      return { result: await reviews.token(request), id };
    } catch (error) {
      if (reviewsOf(cluster, options).reviews === reviews) throw notValidated(cluster, reasonOf(error), error);
    }
  }
}

/** Returns the reviews of the cluster that a caller names, and the cluster's ID. */
function reviewsOf(
  cluster: string,
  { clusterId, reviews, clusterAliases = {}, remoteReviews }: KubernetesTokensOptions,
): { readonly reviews: TokenReviews; readonly id: string } {
  const alias = Object.hasOwn(clusterAliases, cluster) ? clusterAliases[cluster] : undefined;
  if (cluster === "" || cluster === clusterId || alias === clusterId) return { reviews, id: clusterId };
  const remotes = remoteReviews?.() ?? new Map<string, TokenReviews>();
  for (const id of [cluster, alias]) {
    const remote = id === undefined ? undefined : remotes.get(id);
    if (remote !== undefined && id !== undefined) return { reviews: remote, id };
  }
  const known = [...remotes.keys()].toSorted().join(" ");
  throw new CaError(
    "unauthenticated",
    `client claims to be in cluster ${JSON.stringify(cluster)}, but we only know about local cluster ${JSON.stringify(clusterId)} and remote clusters [${known}]`,
  );
}

interface ReviewedBy {
  /** Cluster that the caller names. */
  readonly cluster: string;
  /** ID of that cluster. */
  readonly id: string;
  readonly trustDomain: string;
  /** Name of the authenticator. */
  readonly by: string;
}

function callerOf(result: TokenReviewResult, { cluster, id, trustDomain, by }: ReviewedBy): Caller {
  if (!result.authenticated) {
    const { error } = result;
    const reason = error
      ? `the service account authentication returns an error: ${error}`
      : "the token is not authenticated";
    throw notValidated(cluster, reason);
  }
  const { user, boundTo } = result;
  if (!user.groups.includes(serviceAccountGroup)) throw notValidated(cluster, "the token is not a service account");
  try {
    const identity = identityOfSubject(user.username, trustDomain);
    const { namespace, serviceAccount } = identity;
    const { podName: name, podUid: uid, nodeName: node } = boundTo;
    if (name === undefined || uid === undefined) return { identities: [spiffeUri(identity)], by };
    const pod: BoundPod = { cluster: id, namespace, name, uid, serviceAccount, ...(node !== undefined && { node }) };
    return { identities: [spiffeUri(identity)], by, pod };
  } catch (error) {
    throw notValidated(
      cluster,
      `invalid username field in the token review result: ${(error as Error).message}`,
      error,
    );
  }
}

function notValidated(cluster: string, reason: string, cause?: unknown): CaError {
  const message = `failed to validate the JWT from cluster ${JSON.stringify(cluster)}: ${reason}`;
  return new CaError("unauthenticated", message, { cause });
}
