import { Code, ConnectError } from "@connectrpc/connect";
import type { IstioCertificateRequest } from "@istiod/istio-api/security/v1alpha1/ca";
import { monotonicClock } from "@istiod/runtime";
import type { LeafIssuer } from "../authority/leaf-issuer.js";
import { CaError, type CaErrorCode } from "../errors.js";
import { authorizedNames, type CertificateNamesOptions } from "../authorization/certificate-names.js";
import { authenticatePeer } from "../identity/authenticate-peer.js";
import type { Authenticator, Caller } from "../identity/authenticator.js";
import { credentialsOf, type Peer } from "../identity/peer.js";
import { splitCertificates } from "../pem.js";
import type { CertificateEvents } from "./certificate-events.js";

/** Decides who gets which certificate. */
export interface IssuanceOptions extends CertificateNamesOptions {
  readonly authority: LeafIssuer;
  /** Tried in order. */
  readonly authenticators: readonly Authenticator[];
  /**
   * Accepts credentials over plaintext connections (Istio's XDS_AUTH_PLAINTEXT). Default: false, because
   * tokens could be intercepted.
   */
  readonly plaintext?: boolean;
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
    if (peer.tls === undefined && !plaintext)
      throw new CaError(
        "unauthenticated",
        `${credentialsOf(peer).peer ?? "caller"}: credentials are not accepted over plaintext connections`,
      );
    return { caller: await authenticatePeer(authenticators, peer), peer, receivedAt };
  } catch (cause) {
    throw unauthenticated(cause, peer, events);
  }
}

/**
 * Issues the certificate that an authenticated caller requests.
 *
 * @param signal aborted once nobody waits for the certificate
 * @returns the response's `cert_chain`: one PEM per element, the last of which has all roots
 * @throws ConnectError
 */
export async function issue(
  request: IstioCertificateRequest,
  { caller, peer, receivedAt }: AdmittedRequest,
  options: IssuanceOptions,
  signal?: AbortSignal,
): Promise<string[]> {
  const { authority, events } = options;
  const names = namesOf(request, { caller, peer, receivedAt }, options);
  try {
    const lifetime = Number(request.validityDuration) * 1000;
    const signer = request.metadata?.["CertSigner"];
    const issued = await authority.sign({
      request: request.csr,
      names,
      lifetime,
      ...(typeof signer === "string" && { signer }),
      ...(signal !== undefined && { signal }),
    });
    const { key, serialNumber, notAfter } = issued;
    const durationMs = monotonicClock.now() - receivedAt;
    events?.issued?.({ names, caller, peer, key, serialNumber, notAfter, durationMs });
    return responseChain(issued.certificate, issued.chain, issued.roots);
  } catch (cause) {
    const error = CaError.from(cause, "signing", "signing");
    // The call is over: nobody learns of the failure, and nothing is wrong.
    if (signal?.aborted) throw new ConnectError("canceled", Code.Canceled, undefined, undefined, error);
    events?.signingFailed?.(error, caller, peer);
    throw new ConnectError(`CSR signing error (${error.message})`, statusOf(error.code), undefined, undefined, error);
  }
}

function namesOf(
  request: IstioCertificateRequest,
  { caller, peer }: AdmittedRequest,
  options: IssuanceOptions,
): readonly string[] {
  try {
    return authorizedNames(request, caller, options);
  } catch (cause) {
    throw unauthenticated(cause, peer, options.events);
  }
}

/** Returns the status of Istio's CA for a caller without the right to a certificate. Only `events` has the reason. */
function unauthenticated(cause: unknown, peer: Peer, events: CertificateEvents | undefined): ConnectError {
  const error = CaError.from(cause, "unauthenticated", "authentication");
  events?.authenticationFailed?.(error, peer);
  const what = error.code === "impersonation" ? "request impersonation authentication" : "request authenticate";
  return new ConnectError(`${what} failure`, Code.Unauthenticated);
}

/** Returns one PEM per element. The last element has all roots, because clients trust the last element. */
function responseChain(leaf: string, chain: readonly string[], roots: string): string[] {
  return [leaf, ...chain.flatMap(splitCertificates), roots];
}

function statusOf(code: CaErrorCode): Code {
  return code === "csr" || code === "ttl" || code === "signer-root" ? Code.InvalidArgument : Code.Internal;
}
