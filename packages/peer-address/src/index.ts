export { addressGroup } from "./address-group.js";
export { isLoopback } from "./loopback.js";
