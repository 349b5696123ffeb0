export * from "./authorization-policies.js";
export { oldestFirst } from "./oldest-first.js";
export { namespaceAmong } from "./own-namespace.js";
export { appliesToClient, type TargetedPolicy, type TargetReference } from "./policy-attachment.js";
export { type ProviderAddress, providerAddress, type ProviderService } from "./provider-address.js";
export { applicableJwtRules } from "./request-authentications.js";
export {
  fetchedJwks,
  jwksKey,
  type JwksServer,
  type JwksSource,
  localJwks,
  proxyFetchedJwks,
  unavailableKeys,
  type UnavailableKeys,
  unverifiableJwks,
  wantedJwks,
} from "./jwks.js";
