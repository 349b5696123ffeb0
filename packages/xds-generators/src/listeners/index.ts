export type { Claimant, LostClaim } from "./connection-claims.js";
export { lostAtGateway } from "./gateway-listeners.js";
export { lostConnections } from "./outbound-decisions.js";
export { listeners } from "./listeners.js";
