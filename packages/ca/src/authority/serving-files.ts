import { createPrivateKey, type KeyObject } from "node:crypto";
import { createSecureContext } from "node:tls";
import { CaError } from "../errors.js";
import { readText } from "../files/read-text.js";
import { parseCertificates } from "../pem.js";
import type { ServingCertificate } from "./serving-certificate.js";

/** Files of a server certificate that is issued and renewed elsewhere. */
export interface ServingFiles {
  /** PEM of the leaf, followed by the intermediates. */
  readonly certFile: string;
  /** PEM of the unencrypted key. */
  readonly keyFile: string;
}

/**
 * Reads and checks a server certificate and its key.
 *
 * @param now milliseconds since the epoch
 * @throws CaError that names the file: `store` if it cannot be read, `malformed`, `key-mismatch` if the key belongs to
 *   another certificate, `untrusted` if the certificate has expired
 */
export async function readServingFiles({ certFile, keyFile }: ServingFiles, now: number): Promise<ServingCertificate> {
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  const [leaf] = parseCertificates(cert, certFile);
  if (leaf === undefined) throw new CaError("malformed", `${certFile}: no certificate found`);
  if (!leaf.checkPrivateKey(privateKey(key, keyFile)))
    throw new CaError("key-mismatch", `${keyFile}: the key does not belong to the certificate in ${certFile}`);
  const notAfter = Date.parse(leaf.validTo);
  if (notAfter <= now)
    throw new CaError("untrusted", `${certFile}: the certificate expired at ${new Date(notAfter).toISOString()}`);
  check(certFile, () => createSecureContext({ cert, key }));
  return { cert, key, notAfter };
}

/**
 * Reads and checks root certificates.
 *
 * @returns PEM with a newline at its end
 * @throws CaError that names the file: `store` or `malformed`
 */
export async function readRootsFile(file: string): Promise<string> {
  const ca = await readText(file);
  parseCertificates(ca, file);
  check(file, () => createSecureContext({ ca }));
  return ca.endsWith("\n") ? ca : `${ca}\n`;
}

function privateKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw CaError.from(error, "malformed", `${file}: not an unencrypted private key in PEM`);
  }
}

/** Checks the further requirements of OpenSSL, such as a minimum key length. */
function check(file: string, use: () => void): void {
  try {
    use();
  } catch (error) {
    throw CaError.from(error, "malformed", `${file}: cannot be used for TLS`);
  }
}
