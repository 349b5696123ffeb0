import { createPublicKey, type KeyObject } from "node:crypto";
import { CaError } from "../errors.js";
import { kindOf } from "../keys.js";
import { Pkcs10CertificateRequest } from "../x509.js";

/** What the CA takes from a request: the key, proven to be the requester's, and whether a common name was asked for. */
export interface SigningRequest {
  readonly publicKey: KeyObject;
  /** Subject public key info, DER. */
  readonly publicKeyDer: Buffer;
  readonly wantsCommonName: boolean;
}

/** A request with an 8192-bit RSA key is under 5 KB; what is larger is not worth parsing. */
const LONGEST_REQUEST = 64 * 1024;

const BEGIN = /-----BEGIN (NEW )?CERTIFICATE REQUEST-----/;
const END = /-----END (NEW )?CERTIFICATE REQUEST-----/;

/**
 * Reads a PKCS#10 request in PEM and checks its signature (RFC 2986). Names and extensions in it are not read: what a
 * certificate says is decided by who asks, not by what is asked for.
 *
 * @throws CaError `csr`
 */
export async function readSigningRequest(pem: string): Promise<SigningRequest> {
  const der = derOf(pem);
  try {
    const request = new Pkcs10CertificateRequest(der);
    const publicKey = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: "der", type: "spki" });
    kindOf(publicKey, "csr");
    if (!(await request.verify())) throw new CaError("csr", "signing request: its signature does not fit its key");
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
  if (pem.length > LONGEST_REQUEST) {
    throw new CaError("csr", `signing request of ${pem.length} characters: at most ${LONGEST_REQUEST} are accepted`);
  }
  const begin = BEGIN.exec(pem);
  const end = END.exec(pem);
  if (!begin || !end || end.index < begin.index) {
    throw new CaError("csr", 'signing request: no PEM block "CERTIFICATE REQUEST" found');
  }
  const body = pem.slice(begin.index + begin[0].length, end.index).replace(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) throw new CaError("csr", "signing request: its PEM block is not base64");
  return Buffer.from(body, "base64");
}
