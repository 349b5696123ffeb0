export { emptyAssignments } from "./empty-assignments.js";
export { endpointAssignments } from "./endpoint-sets.js";
export { endpointsOf } from "./load-assignment.js";
export type { EndpointTarget } from "./endpoint-target.js";
export { encodedAssignment, type EncodedMember } from "./encoded-assignment.js";
export type { LocalityGroup } from "./locality-group.js";
export { inlineLocalities } from "./inline-endpoints.js";
