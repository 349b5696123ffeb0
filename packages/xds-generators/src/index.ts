export { generators, lookups } from "./generators.js";
export { shadowedHosts, type ShadowedHost } from "./routes/index.js";
