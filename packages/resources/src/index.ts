export { resource, type Resource, resourceOfParts, type ResourcePart, resourcePart } from "./resource.js";
export { ResourceSet } from "./resource-set.js";
export { difference, type Difference } from "./difference.js";
