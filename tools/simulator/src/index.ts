export { simulate, type ProxyState } from "./simulate.js";
export type { Call, CallError, Outcome } from "./call.js";
export { chooseFilterChains, type Connection } from "./filter-chain.js";
export { chooseVirtualHost } from "./virtual-host.js";
export { matchesRoute, type Request } from "./route-match.js";
