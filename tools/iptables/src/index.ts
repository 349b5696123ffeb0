export { CACHE, findIptables } from "./find-iptables.js";
export { installIptables, PACKAGES } from "./install-iptables.js";
