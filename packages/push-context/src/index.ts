export * from "./proxy/index.js";
export * from "./mesh/index.js";
export * from "./traffic-policy/index.js";
export * from "./authentication/index.js";
