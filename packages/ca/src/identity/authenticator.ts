import { CaError } from "../errors.js";

/** An authenticated caller. */
export interface Caller {
  /** SPIFFE URIs, the primary one first. `identityIn` returns the identity of a trust domain among them. */
  readonly identities: readonly string[];
  /** Name of the authenticator that accepted the credentials. */
  readonly by: string;
  /** The pod to which the token is bound, according to a Kubernetes TokenReview. */
  readonly pod?: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly serviceAccount: string;
  };
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
  /** The peer's address, for messages. */
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
      reasons.push(`${authenticator.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new CaError(
    "unauthenticated",
    `${credentials.peer ?? "caller"} is not authenticated (${reasons.join("; ") || "no authenticator is configured"})`,
  );
}

/** Returns the token of an `authorization: Bearer …` header. */
export function bearerToken(credentials: Credentials): string | undefined {
  const value = credentials.header("authorization");
  return value !== undefined && /^bearer /i.test(value) ? value.slice("bearer ".length).trim() || undefined : undefined;
}
