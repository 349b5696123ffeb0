export * from "./protocol.js";
export * from "./model/service.js";
export * from "./model/endpoint.js";
export * from "./model/workload.js";
