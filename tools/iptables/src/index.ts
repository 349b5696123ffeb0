export { CACHE, findIptables, findNftables } from "./find-iptables.js";
export { installIptables } from "./install-iptables.js";
