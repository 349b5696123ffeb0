export { generators, lookups } from "./generators.js";
export { emptyAssignments } from "./endpoints/index.js";
export { findings, type Findings } from "./omissions.js";
export { type Claimant, lostAtGateway, type LostClaim, lostConnections } from "./listeners/index.js";
export { hiddenRoutes, type HiddenRoute, shadowedHosts, type ShadowedHost } from "./routes/index.js";
export { secretAnswer, type SecretAnswer } from "./secrets/index.js";
