import { createPublicKey, type KeyObject } from "node:crypto";
import { CaError } from "../errors.js";
import { keyTypeOf } from "../keys.js";
import { Pkcs10CertificateRequest } from "../x509.js";

/** A verified signing request: its key, and whether it has a common name. Other contents are ignored. */
export interface SigningRequest {
  readonly publicKey: KeyObject;
  /** Subject public key info, DER. */
  readonly publicKeyDer: Buffer;
  readonly wantsCommonName: boolean;
}

/** Limit on the size of a request in characters. A request with an 8192-bit RSA key has less than 5,000. */
const maxRequestLength = 64 * 1024;

const beginMarker = /-----BEGIN (NEW )?CERTIFICATE REQUEST-----/;
const endMarker = /-----END (NEW )?CERTIFICATE REQUEST-----/;

/**
 * Reads a PKCS#10 request in PEM and checks its signature (RFC 2986). Its names and extensions are ignored,
 * because the authenticated identity determines the contents of the certificate.
 *
 * @throws CaError `csr`
 */
export async function readSigningRequest(pem: string): Promise<SigningRequest> {
  const der = derOf(pem);
  try {
    const request = new Pkcs10CertificateRequest(der);
    const publicKey = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: "der", type: "spki" });
    keyTypeOf(publicKey, "csr");
    if (!(await request.verify())) throw new CaError("csr", "signing request: its signature does not match its key");
    return {
      publicKey,
      publicKeyDer: publicKey.export({ type: "spki", format: "der" }),
      wantsCommonName: request.subjectName.getField("CN").some((name) => name !== ""),
    };
  } catch (error) {
    throw CaError.from(error, "csr", "signing request cannot be read");
  }
}

function derOf(pem: string): Buffer {
  if (pem.length > maxRequestLength) {
    throw new CaError("csr", `signing request of ${pem.length} characters: at most ${maxRequestLength} are accepted`);
  }
  const begin = beginMarker.exec(pem);
  const end = endMarker.exec(pem);
  if (!begin || !end || end.index < begin.index) {
    throw new CaError("csr", 'signing request: no PEM block "CERTIFICATE REQUEST" found');
  }
  const body = pem.slice(begin.index + begin[0].length, end.index).replace(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) throw new CaError("csr", "signing request: its PEM block is not base64");
  return Buffer.from(body, "base64");
}
