import { reasonOf } from "@istiod/runtime";
import { CaError } from "../errors.js";

/** An authenticated caller. */
export interface Caller {
  /** SPIFFE URIs, the primary one first. `identityIn` returns the identity of a trust domain among them. */
  readonly identities: readonly string[];
  /** Name of the authenticator that accepted the credentials. */
  readonly by: string;
  /** The pod to which the token is bound, according to a Kubernetes TokenReview. */
  readonly pod?: BoundPod;
}

/** The pod to which a caller's token is bound. */
export interface BoundPod {
  /** ID of the cluster whose API server has reviewed the token. */
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly serviceAccount: string;
  /** Absent if the API server does not bind tokens to nodes. */
  readonly node?: string;
}

/** Credentials presented by a caller. */
export interface Credentials {
  /** DER of the client's certificates, leaf first; only if TLS has verified them against the server's roots. */
  readonly verifiedChain?: readonly Uint8Array[];
  /** True if the client has presented a certificate that TLS has not verified. */
  readonly hasUnverifiedCertificate?: boolean;
  /** True if the connection is encrypted. */
  readonly encrypted: boolean;
  /** Returns a request header or gRPC metadata entry by its lower-case name. */
  header(name: string): string | undefined;
  /** The peer's IP address; absent if it has none, or is gone. */
  readonly address?: string;
  /** The peer's address and port, for messages. */
  readonly peer?: string;
}

/** An authentication method, such as client certificates, signed tokens or TokenReviews. */
export interface Authenticator {
  readonly name: string;
  /**
   * @returns `undefined` if the caller presents no credentials of this kind
   * @throws CaError `unauthenticated` if the credentials are invalid, with the reason
   */
  authenticate(credentials: Credentials): Promise<Caller | undefined>;
}

/**
 * Authenticates a caller with the first authenticator that accepts its credentials. After invalid credentials, the
 * remaining authenticators are still tried, because a token may be meant for one of them.
 *
 * @throws CaError `unauthenticated` with the reason of each authenticator
 */
export async function authenticate(
  authenticators: readonly Authenticator[],
  credentials: Credentials,
): Promise<Caller> {
  const reasons: string[] = [];
  for (const authenticator of authenticators) {
    try {
      const caller = await authenticator.authenticate(credentials);
      if (caller && caller.identities.length > 0) return caller;
      reasons.push(`${authenticator.name}: no credentials of this kind`);
    } catch (error) {
      reasons.push(`${authenticator.name}: ${reasonOf(error)}`);
    }
  }
  throw new CaError(
    "unauthenticated",
    `${credentials.peer ?? "caller"} is not authenticated (${reasons.join("; ") || "no authenticator is configured"})`,
  );
}

/** Maximum length of a token in characters. Tokens of service accounts have less than 2,000. */
const maxTokenLength = 16 * 1024;

/**
 * Returns the token of an `authorization: Bearer …` header.
 *
 * @throws CaError `unauthenticated` for a token of more than 16 KiB, before anything parses or forwards it
 */
export function bearerToken(credentials: Credentials): string | undefined {
  const value = credentials.header("authorization");
  if (value === undefined || !/^bearer /i.test(value)) return undefined;
  if (value.length > maxTokenLength)
    throw new CaError("unauthenticated", `token of ${value.length} characters, at most ${maxTokenLength} are accepted`);
  return value.slice("bearer ".length).trim() || undefined;
}
