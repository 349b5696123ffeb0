export { endpointAssignments } from "./endpoint-sets.js";
export { endpointsOf } from "./load-assignment.js";
export { inlineEndpointsOf, type InlineEndpointsRef } from "./inline-endpoints.js";
