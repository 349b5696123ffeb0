import { CaError } from "../errors.js";
import { encodePem } from "../pem.js";
import { leafTemplate, randomSerialNumber, signTemplate } from "./leaf-template.js";
import type { SigningBundle } from "./signing-bundle.js";

/** Contents of a leaf certificate. */
export interface Leaf {
  readonly publicKeyDer: Uint8Array;
  /** Subject alternative names; at least one. */
  readonly names: readonly string[];
  /** Repeats the first name as the common name if it fits, for old clients that ignore other names. */
  readonly commonName: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Milliseconds from now. */
  readonly lifetime: number;
}

/** A signed leaf certificate. */
export interface SignedLeaf {
  /** With a newline at its end. */
  readonly pem: string;
  /** Hexadecimal. */
  readonly serialNumber: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

/** A leaf is valid from two minutes before it is issued, because clocks differ between machines. */
const clockSkewMs = 2 * 60 * 1000;

/** Upper bound of the X.520 common name. */
const maxCommonNameLength = 64;

/**
 * Signs a leaf for client and server authentication. It never outlives the certificates of its issuers.
 *
 * @throws CaError `not-ready` if an issuer has expired, `signing` for any other failure
 */
export async function signLeaf(leaf: Leaf, signer: SigningBundle): Promise<SignedLeaf> {
  if (signer.notAfter <= leaf.now) {
    throw new CaError("not-ready", `the signing certificate expired at ${new Date(signer.notAfter).toISOString()}`);
  }
  const [first] = leaf.names;
  if (first === undefined) throw new CaError("signing", "a certificate needs at least one name");
  const notAfter = wholeSeconds(Math.min(leaf.now + leaf.lifetime, signer.notAfter));
  const commonName = leaf.commonName && first.length <= maxCommonNameLength ? first : undefined;
  try {
    const serialNumber = randomSerialNumber();
    const der = await signTemplate(leafTemplate(signer), {
      serialNumber,
      notBefore: leaf.now - clockSkewMs,
      notAfter,
      commonName,
      publicKeyDer: leaf.publicKeyDer,
      names: leaf.names,
    });
    return { pem: encodePem("CERTIFICATE", der), serialNumber: serialNumber.toString("hex"), notAfter };
  } catch (error) {
    throw CaError.from(error, "signing", "the certificate could not be created");
  }
}

/** Drops the fraction of a second, which certificates cannot express. */
function wholeSeconds(time: number): number {
  return Math.floor(time / 1000) * 1000;
}
