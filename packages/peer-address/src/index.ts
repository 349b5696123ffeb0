export { addressGroup } from "./address-group.js";
export { AddressRanges } from "./address-ranges.js";
export { isLoopback } from "./loopback.js";
