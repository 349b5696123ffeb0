import { webcrypto } from "node:crypto";
import {
  type Extension,
  type JsonGeneralName,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from "../x509.js";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Returns a PKCS#10 request in PEM, with a key of its own. */
export async function signingRequest(
  names: readonly JsonGeneralName[],
  { subject, extensions = [] }: { readonly subject?: string; readonly extensions?: readonly Extension[] } = {},
): Promise<string> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    ...(subject !== undefined && { name: subject }),
    extensions: [...(names.length > 0 ? [new SubjectAlternativeNameExtension([...names], true)] : []), ...extensions],
  });
  return `${request.toString("pem")}\n`;
}
