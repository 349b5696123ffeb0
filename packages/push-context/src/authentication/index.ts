export * from "./mutual-tls-mode.js";
export * from "./peer.js";
export * from "./service-mode.js";
