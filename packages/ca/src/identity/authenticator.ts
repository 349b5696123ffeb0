import { CaError } from "../errors.js";

/** Who calls, once proven. */
export interface Caller {
  /** SPIFFE URIs (or, for a certificate from elsewhere, its other names), first the main one. */
  readonly identities: readonly string[];
  /** Name of the authenticator that proved it. */
  readonly by: string;
  /** Where the token was bound to a pod (a Kubernetes TokenReview says so). */
  readonly pod?: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly serviceAccount: string;
  };
}

/** What an authenticator may look at. */
export interface Credentials {
  /** DER of the client certificate, only if the connection's TLS has verified it against the mesh's roots. */
  readonly verifiedCertificate?: Uint8Array;
  /** Whether the connection is encrypted. */
  readonly encrypted: boolean;
  /** A request header or gRPC metadata entry by its lower-case name. */
  header(name: string): string | undefined;
  /** The peer's address, for messages. */
  readonly peer?: string;
}

/** One way to prove an identity: a client certificate, a signed token, a TokenReview. */
export interface Authenticator {
  readonly name: string;
  /**
   * @returns `undefined` where the caller shows no credential of this kind
   * @throws CaError `unauthenticated` where it shows one that does not hold, with the reason
   */
  authenticate(credentials: Credentials): Promise<Caller | undefined>;
}

/**
 * Asks each authenticator in turn; the first that knows the caller decides. A credential that does not hold does not
 * keep the next authenticator from being asked, as a token may be meant for another of them.
 *
 * @throws CaError `unauthenticated` naming every reason
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
      reasons.push(`${authenticator.name}: no credential of this kind`);
    } catch (error) {
      reasons.push(`${authenticator.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new CaError(
    "unauthenticated",
    `${credentials.peer ?? "caller"} is not authenticated (${reasons.join("; ") || "no authenticator is configured"})`,
  );
}

/** The token of an `authorization: Bearer …` header. */
export function bearerToken(credentials: Credentials): string | undefined {
  const value = credentials.header("authorization");
  return value !== undefined && /^bearer /i.test(value) ? value.slice("bearer ".length).trim() || undefined : undefined;
}
