export { CertificateAuthority, type CertificateAuthorityOptions } from "./authority/certificate-authority.js";
export type { IssuedCertificate, LeafIssuer, LeafRequest } from "./authority/leaf-issuer.js";
export {
  type AuthorityBundle,
  type SigningBundle,
  signingBundle,
  type SigningBundlePem,
  type TrustSource,
} from "./authority/signing-bundle.js";
export { readSigningRequest, type SigningRequest } from "./authority/signing-request.js";
export { createSelfSignedRoot, renewSelfSignedRoot, type SelfSignedRootOptions } from "./authority/self-signed-root.js";
export {
  issueServingCertificate,
  istiodNames,
  keepServingCertificate,
  type KeepServingOptions,
  type RenewedCertificate,
  type AnyServingAuthority,
  type ServingAuthority,
  type ServingCertificate,
} from "./authority/serving-certificate.js";
export { readRootsFile, readServingFiles, type ServingFiles } from "./authority/serving-files.js";
export {
  keepServingTls,
  type KeepServingTlsOptions,
  type KeptServingTls,
  type RootsFile,
  type ServingTls,
} from "./authority/serving-tls.js";
export {
  authorizeClaim,
  type ClaimDecision,
  type ClaimDenial,
  type ClaimedWorkload,
  type ClaimOptions,
} from "./authorization/claimed-identity.js";
export { type AuthorizeImpersonation, type CertificateNamesOptions } from "./authorization/certificate-names.js";
export {
  type AccountOnNode,
  nodeImpersonation,
  type NodeImpersonationOptions,
  type NodePod,
  type NodePods,
} from "./authorization/node-impersonation.js";
export { CaError, type CaErrorCode } from "./errors.js";
export { type ExposedKey, exposedKeys } from "./files/exposed-keys.js";
export { authenticatePeer } from "./identity/authenticate-peer.js";
export {
  authenticate,
  type Authenticator,
  bearerToken,
  type BoundPod,
  type Caller,
  type Credentials,
} from "./identity/authenticator.js";
export { clientCertificates, type ClientCertificatesOptions } from "./identity/client-certificate.js";
export { forwardedCertificates, type ForwardedCertificatesOptions } from "./identity/forwarded-certificates.js";
export { type ForwardedElement, parseForwardedCertificates } from "./identity/forwarded-header.js";
export { type JwtRule, parseJwtRule } from "./identity/jwt-rule.js";
export { kubernetesTokens, type KubernetesTokensOptions, type TokenReviews } from "./identity/kubernetes-tokens.js";
export { credentialsOf, type Peer, peerOf } from "./identity/peer.js";
export { signedTokens, type SignedTokensOptions } from "./identity/signed-tokens.js";
export {
  identityIn,
  identityOfSubject,
  parseSpiffeUri,
  type SpiffeIdentity,
  spiffeUri,
} from "./identity/spiffe-identity.js";
export { staticTokens } from "./identity/static-tokens.js";
export { tokenDirectory, type TokenDirectory, type TokenDirectoryOptions } from "./identity/token-directory.js";
export { createTokenKey, issueToken, type TokenClaims, tokenKeyIssuer } from "./identity/token-issuer.js";
export { holdsPrivateKey, parseTokenKeys, readTokenKeys, type TokenKeySet } from "./identity/token-keys.js";
export { followTokenKeys, type FollowTokenKeysOptions } from "./identity/token-key-file.js";
export { type UnusableToken } from "./identity/token-files.js";
export { type TrustBundle, trustBundleOf, verifiedIdentity } from "./identity/trust-bundle.js";
export type { KeyType } from "./keys.js";
export { DirectoryRootStore } from "./roots/directory-root-store.js";
export { keepRoot, selfSignedBundle } from "./roots/keep-root.js";
export { kubernetesSecrets } from "./roots/kubernetes-secrets.js";
export {
  KubernetesSigners,
  type KubernetesSignersOptions,
  type SignerRequest,
  type SignerStatus,
} from "./registration/kubernetes-signers.js";
export {
  RegistrationAuthority,
  type RegistrationAuthorityOptions,
  type SignerRoots,
} from "./registration/registration-authority.js";
export { type FollowedRoots, followRoots, type FollowRootsOptions } from "./registration/roots-file.js";
export { SignerAuthority, type SignerAuthorityOptions } from "./registration/signer-authority.js";
export { revocationFault } from "./revocation/bundle-lists.js";
export { parseRevocationLists, type RevocationList } from "./revocation/revocation-list.js";
export { type PluggedInCaOptions, readPluggedInCa } from "./roots/plugged-in-ca.js";
export { type RootCheck, RootRotation, type RootRotationOptions } from "./roots/root-rotation.js";
export type { RootStore, StoredRoot } from "./roots/root-store.js";
export {
  type Secret,
  SecretRootStore,
  type SecretRootStoreOptions,
  type SecretStore,
  type StoredSecret,
} from "./roots/secret-root-store.js";
export { watchPluggedInCa, type WatchPluggedInCaOptions } from "./roots/watch-plugged-in-ca.js";
export { type AuditLine, type AuditLogOptions, certificateAuditLog } from "./service/audit-log.js";
export {
  type CertificateCalls,
  certificateCalls,
  type CertificateCallsOptions,
  type CertificateLimits,
} from "./service/certificate-calls.js";
export {
  type CertificateEvents,
  type Issuance,
  joinEvents,
  type RejectionReason,
} from "./service/certificate-events.js";
export {
  certificateMetrics,
  type ExpiringAuthority,
  observeQueue,
  observeRevocationLists,
} from "./service/certificate-metrics.js";
export { certificateRoutes, type CertificateServiceOptions } from "./service/certificate-service.js";
export type { IssuanceOptions } from "./service/issuance.js";
export { signErrorLabel } from "./service/sign-error-label.js";
export { connectionValues } from "./service/connection.js";
