export type { Claimant, LostClaim } from "./listener-conflicts.js";
export { lostAtGateway } from "./gateway/gateway-listeners.js";
export { lostConnections } from "./outbound/outbound-plans.js";
export { listeners } from "./listeners.js";
