export {
  findKeyPair,
  findRootCertificates,
  type KeyPair,
  type RootCertificates,
  type SecretEntries,
} from "./certificates.js";
export {
  type CertificateUse,
  firstListExpiry,
  keyPairFault,
  malformedKeyPairFault,
  revocationListsFault,
  rootsFault,
} from "./key-material.js";
