export * from "./proxy/index.js";
export * from "./mesh/index.js";
export * from "./traffic-policy/index.js";
export * from "./authentication/index.js";
export * from "./gateways/index.js";
export * from "./authorization/index.js";
export * from "./telemetry/index.js";
