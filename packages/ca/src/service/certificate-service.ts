import { Code, ConnectError, type ConnectRouter, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { type IstioCertificateRequest, IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import type { CertificateAuthority } from "../authority/certificate-authority.js";
import { CaError, type CaErrorCode } from "../errors.js";
import { authenticate, type Authenticator, type Caller } from "../identity/authenticator.js";
import { credentialsOf, type Peer } from "../identity/peer.js";
import { identityIn, parseSpiffeUri, spiffeUri } from "../identity/spiffe-identity.js";
import { splitCertificates } from "../pem.js";
import { connectionKey } from "./connection.js";

/** Events of requests. The comments name the corresponding Istio metrics, without the prefix `citadel_server_`. */
export interface CertificateEvents {
  /** `csr_count` */
  requested?(): void;
  /** `authentication_failure_count`; the reason is only for the log and not sent to the caller. */
  authenticationFailed?(error: CaError): void;
  /** `csr_sign_err_count`; its label `error` is `signErrorLabel(error.code)`. */
  signingFailed?(error: CaError, caller: Caller): void;
  /** `success_cert_issuance_count` */
  issued?(certificate: { readonly names: readonly string[]; readonly caller: Caller; readonly notAfter: number }): void;
}

export interface CertificateServiceOptions {
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
  /** Returns the client of a call. Default: the peer that `connectionValues` has set. */
  readonly peer?: (context: HandlerContext) => Peer;
}

/**
 * Returns the routes of `istio.v1.auth.IstioCertificateService`, for `connectNodeAdapter({ routes, contextValues:
 * connectionValues })`.
 */
export function certificateRoutes(options: CertificateServiceOptions): (router: ConnectRouter) => void {
  return (router) => router.service(IstioCertificateService, certificateService(options));
}

/** Returns the methods of the service. */
export function certificateService(options: CertificateServiceOptions): ServiceImpl<typeof IstioCertificateService> {
  const { authority, events } = options;
  return {
    async createCertificate(request, context) {
      events?.requested?.();
      const { caller, names } = await admitCaller(request, context, options);
      try {
        const issued = await authority.sign({
          request: request.csr,
          names,
          lifetime: Number(request.validityDuration) * 1000,
        });
        events?.issued?.({ names, caller, notAfter: issued.notAfter });
        return { certChain: responseChain(issued.certificate, issued.chain, issued.roots) };
      } catch (cause) {
        const error = CaError.from(cause, "signing", "signing");
        events?.signingFailed?.(error, caller);
        throw new ConnectError(
          `CSR signing error (${error.message})`,
          statusOf(error.code),
          undefined,
          undefined,
          error,
        );
      }
    },
  };
}

/**
 * Returns the authenticated caller and the names that its certificate may have.
 *
 * @throws ConnectError `Unauthenticated` if authentication or authorization fails, as in Istio's CA. Only `events` has
 *   the reason.
 */
async function admitCaller(
  request: IstioCertificateRequest,
  context: HandlerContext,
  options: CertificateServiceOptions,
): Promise<{ caller: Caller; names: readonly string[] }> {
  try {
    const caller = await authenticateCaller(context, options);
    return { caller, names: await authorizedNames(request, caller, options) };
  } catch (cause) {
    const error = CaError.from(cause, "unauthenticated", "authentication");
    options.events?.authenticationFailed?.(error);
    throw new ConnectError("request authenticate failure", Code.Unauthenticated);
  }
}

async function authenticateCaller(
  context: HandlerContext,
  { authenticators, plaintext = false, peer = ({ values }) => values.get(connectionKey) }: CertificateServiceOptions,
): Promise<Caller> {
  const credentials = credentialsOf(peer(context));
  if (!credentials.encrypted && !plaintext) {
    throw new CaError(
      "unauthenticated",
      `${credentials.peer ?? "caller"}: credentials are not accepted over plaintext connections`,
    );
  }
  return authenticate(authenticators, credentials);
}

/**
 * Returns the one name of the certificate: the caller's own identity, or the one that it may impersonate. Any further
 * rule on CSRs belongs here.
 */
async function authorizedNames(
  request: IstioCertificateRequest,
  caller: Caller,
  { trustDomain, mayImpersonate }: CertificateServiceOptions,
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

/** Returns the value of the label `error` of Istio's metric `citadel_server_csr_sign_err_count`. */
export function signErrorLabel(
  code: CaErrorCode,
): "CA_NOT_READY" | "CSR_ERROR" | "TTL_ERROR" | "CERT_GEN_ERROR" | "UNKNOWN" {
  switch (code) {
    case "not-ready":
      return "CA_NOT_READY";
    case "csr":
      return "CSR_ERROR";
    case "ttl":
      return "TTL_ERROR";
    case "signing":
      return "CERT_GEN_ERROR";
    default:
      return "UNKNOWN";
  }
}
