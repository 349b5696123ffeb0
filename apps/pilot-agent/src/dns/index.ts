export { NameLookup, type NameScope } from "./name-table.js";
export { type DnsEvents, Resolver, type ResolverOptions } from "./resolver.js";
export type { Protocol } from "./response.js";
