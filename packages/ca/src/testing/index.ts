export { MemoryRootStore } from "./memory-root-store.js";
export { mint, type Minted, type MintOptions, uri, uriNameConstraints } from "./minting.js";
