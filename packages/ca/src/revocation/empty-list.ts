import { sign } from "node:crypto";
import { leafTemplate } from "../authority/leaf-template.js";
import type { SigningBundle } from "../authority/signing-bundle.js";
import { derElement, derInteger, derTime } from "../der/writer.js";
import { tags } from "../der/tags.js";
import { encodePem } from "../pem.js";

/** Clocks differ between machines. */
const clockSkewMs = 2 * 60 * 1000;

/**
 * Signs a revocation list (RFC 5280 §5.1) without entries, which expires with the signing certificate.
 *
 * @param now milliseconds since the epoch
 * @returns PEM
 */
export function emptyRevocationList(signer: SigningBundle, now: number): string {
  const { algorithm, issuer, hash, key } = leafTemplate(signer);
  const version2 = derInteger(Uint8Array.of(1));
  const list = derElement(
    tags.sequence,
    version2,
    algorithm,
    issuer,
    derTime(now - clockSkewMs),
    derTime(signer.notAfter),
  );
  const signature = derElement(tags.bitString, Uint8Array.of(0), sign(hash, list, key));
  return encodePem("X509 CRL", derElement(tags.sequence, list, algorithm, signature));
}
