export { generators, lookups } from "./generators.js";
export { emptyAssignments, endpointServices, unknownLoadAssignment } from "./endpoints/index.js";
export { patchResults, type PatchResult } from "./patches/patch-results.js";
export { originalOf } from "./patches/patcher.js";
export { type AcceptedRouteContext, acceptedVirtualHosts } from "./grpc/index.js";
export { omissions, type Omissions } from "./omissions.js";
export { type UnservedProvider, unservedProviders } from "./telemetry/unserved-providers.js";
export {
  type ChainSource,
  gatewayListenerConflicts,
  ingressConflicts,
  type ListenerConflict,
  outboundListenerConflicts,
} from "./listeners/index.js";
export { unreachableRoutes, type UnreachableRoute, shadowedHosts, type ShadowedHost } from "./routes/index.js";
export {
  isCaCertificate,
  spiffeBundleEndpoints,
  spiffeBundleFetches,
  spiffeBundles,
  trustAnchors,
} from "./security/trust-bundle.js";
export { secretLookup, type SecretLookup } from "./secrets/index.js";
export { warmUp, type WarmUpOptions, type WarmUpResult } from "./warm-up.js";
export { customProviderEffects, type CustomProviderEffect } from "./security/authorization/client-authorization.js";
export { meshTrustDomains } from "./security/authorization/written-authorization.js";
export { deniedPolicies, enforcedAuthorizationPolicies, rejectsEveryToken } from "./security/policy-bound.js";
export { expandTrustDomains, withTrustDomainAliases } from "./security/authorization/trust-domains.js";
export { completeResource, withLastGood } from "./last-good.js";
