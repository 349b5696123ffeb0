export * from "./protocol.js";
export * from "./model/service.js";
export * from "./model/endpoint.js";
export * from "./model/workload.js";
export { aliasesOf, declarationsOf, keyOfId, service, serviceOrder, servicesByHostname, splitKey } from "./services.js";
