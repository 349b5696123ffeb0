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
export { Extension, KeyUsageFlags } from "../x509.js";
export {
  certify,
  type ReceivedRequest,
  startTestSigner,
  type TestSigner,
  type TestSignerOptions,
} from "./test-signer.js";
export { signingRequest, type SigningRequestOptions } from "./signing-request.js";
