export { resource, type Resource } from "./resource.js";
export { ResourceSet } from "./resource-set.js";
export { difference, type Difference } from "./difference.js";
