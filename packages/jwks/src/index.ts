export { type AddressRange, AddressRules, isOwnAddress, parseAddressRange } from "./addresses/address-rules.js";
export type { Resolve } from "./addresses/checked-lookup.js";
export { DocumentClient, type DocumentClientOptions, type GetOptions } from "./http/document-client.js";
export { trustedRoots, type TrustedRootsOptions } from "./http/trusted-roots.js";
export { JwksError, type JwksErrorCode } from "./jwks-error.js";
export { type FetcherOptions, type FetchKeySet, keySetFetcher } from "./key-set-fetcher.js";
export { KeySets, type KeySetsOptions, type KeySetState } from "./key-sets.js";
export { type RefreshSchedule, refreshSchedule } from "./refresh-schedule.js";
export { describeSource, type KeySetSource, sourceKey } from "./source.js";
