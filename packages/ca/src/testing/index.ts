export { MemoryRootStore } from "./memory-root-store.js";
export {
  mint,
  mintRevocationList,
  type MintListOptions,
  type Minted,
  type MintOptions,
  uri,
  uriNameConstraints,
} from "./minting.js";
