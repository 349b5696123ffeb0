import { Code, ConnectError } from "@connectrpc/connect";
import type { IstioCertificateRequest } from "@istiod/istio-api/security/v1alpha1/ca";
import { monotonicClock } from "@istiod/settings";
import type { CertificateAuthority } from "../authority/certificate-authority.js";
import { CaError, type CaErrorCode } from "../errors.js";
import { authenticate, type Authenticator, type Caller } from "../identity/authenticator.js";
import { credentialsOf, type Peer } from "../identity/peer.js";
import { identityIn, parseSpiffeUri, spiffeUri } from "../identity/spiffe-identity.js";
import { splitCertificates } from "../pem.js";
import type { CertificateEvents } from "./certificate-events.js";

/** Decides who gets which certificate. */
export interface IssuanceOptions {
  readonly authority: CertificateAuthority;
  /** The only trust domain whose identities are certified. */
  readonly trustDomain: string;
  /** Tried in order. */
  readonly authenticators: readonly Authenticator[];
  /**
   * Accepts credentials over plaintext connections (Istio's XDS_AUTH_PLAINTEXT). Default: false, because
   * tokens could be intercepted.
   */
  readonly plaintext?: boolean;
  /**
   * Reports whether a caller may impersonate another identity, as a node proxy does for the pods on its node (Istio's
   * CA_TRUSTED_NODE_ACCOUNTS). Default: no caller may.
   */
  readonly mayImpersonate?: (caller: Caller, identity: string) => Promise<boolean>;
  readonly events?: CertificateEvents;
}

/** A request whose caller is authenticated. */
export interface AdmittedRequest {
  readonly caller: Caller;
  readonly peer: Peer;
  /** Monotonic time of its headers in milliseconds. */
  readonly receivedAt: number;
}

/**
 * Authenticates the caller of a request by its connection and headers.
 *
 * @throws ConnectError `Unauthenticated`, as Istio's CA does. Only `events` has the reason.
 */
export async function admitCaller(peer: Peer, options: IssuanceOptions): Promise<AdmittedRequest> {
  const { authenticators, plaintext = false, events } = options;
  const receivedAt = monotonicClock.now();
  events?.requested?.();
  try {
    const credentials = credentialsOf(peer);
    if (!credentials.encrypted && !plaintext)
      throw new CaError(
        "unauthenticated",
        `${credentials.peer ?? "caller"}: credentials are not accepted over plaintext connections`,
      );
    return { caller: await authenticate(authenticators, credentials), peer, receivedAt };
  } catch (cause) {
    throw unauthenticated(cause, peer, events);
  }
}

/**
 * Issues the certificate that an authenticated caller requests.
 *
 * @returns the response's `cert_chain`: one PEM per element, the last of which has all roots
 * @throws ConnectError
 */
export async function issue(
  request: IstioCertificateRequest,
  { caller, peer, receivedAt }: AdmittedRequest,
  options: IssuanceOptions,
): Promise<string[]> {
  const { authority, events } = options;
  const names = await authorizedNames(request, caller, options).catch((cause: unknown) => {
    throw unauthenticated(cause, peer, events);
  });
  try {
    const lifetime = Number(request.validityDuration) * 1000;
    const issued = await authority.sign({ request: request.csr, names, lifetime });
    const { key, serialNumber, notAfter } = issued;
    const durationMs = monotonicClock.now() - receivedAt;
    events?.issued?.({ names, caller, peer, key, serialNumber, notAfter, durationMs });
    return responseChain(issued.certificate, issued.chain, issued.roots);
  } catch (cause) {
    const error = CaError.from(cause, "signing", "signing");
    events?.signingFailed?.(error, caller, peer);
    throw new ConnectError(`CSR signing error (${error.message})`, statusOf(error.code), undefined, undefined, error);
  }
}

function unauthenticated(cause: unknown, peer: Peer, events: CertificateEvents | undefined): ConnectError {
  events?.authenticationFailed?.(CaError.from(cause, "unauthenticated", "authentication"), peer);
  return new ConnectError("request authenticate failure", Code.Unauthenticated);
}

/**
 * Returns the one name of the certificate: the caller's own identity, or the one that it may impersonate. Any further
 * rule on CSRs belongs here.
 */
async function authorizedNames(
  request: IstioCertificateRequest,
  caller: Caller,
  { trustDomain, mayImpersonate }: IssuanceOptions,
): Promise<readonly string[]> {
  const own = identityIn(trustDomain, caller.identities);
  if (own === undefined)
    throw new CaError(
      "unauthenticated",
      `${caller.identities.join(", ")}: not an identity of trust domain ${trustDomain}`,
    );
  const impersonated = request.metadata?.["ImpersonatedIdentity"];
  if (typeof impersonated !== "string" || impersonated === "") return [spiffeUri(own)];
  parseSpiffeUri(impersonated);
  if (identityIn(trustDomain, [impersonated]) === undefined || !(await mayImpersonate?.(caller, impersonated))) {
    throw new CaError("unauthenticated", `${spiffeUri(own)} may not impersonate ${impersonated}`);
  }
  return [impersonated];
}

/** Returns one PEM per element. The last element has all roots, because clients trust the last element. */
function responseChain(leaf: string, chain: readonly string[], roots: string): string[] {
  return [leaf, ...chain.flatMap(splitCertificates), roots];
}

function statusOf(code: CaErrorCode): Code {
  return code === "csr" || code === "ttl" ? Code.InvalidArgument : Code.Internal;
}
