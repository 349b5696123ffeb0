export { emptyAssignments } from "./empty-assignments.js";
export { endpointAssignments } from "./endpoint-sets.js";
export { endpointsOf } from "./load-assignment.js";
export type { EndpointTarget } from "./endpoint-target.js";
export { inlineLocalities, type InlinePreference } from "./inline-endpoints.js";
