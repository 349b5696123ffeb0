export type { Feature } from "./feature-flag.js";
export { features, featureVariables } from "./features.js";
export { type Mesh, mesh, rootNamespace } from "./mesh-config.js";
