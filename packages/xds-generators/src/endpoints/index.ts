export { emptyAssignments } from "./empty-assignments.js";
export { endpointAssignments } from "./endpoint-assignments.js";
export { endpointServices, loadAssignmentByName, unknownLoadAssignment } from "./load-assignment.js";
export type { EndpointTarget } from "./endpoint-target.js";
export { encodeLoadAssignment, type EncodedMember } from "./encode-assignment.js";
export type { LocalityGroup } from "./locality/locality-group.js";
export { inlineLocalities } from "./inline-localities.js";
