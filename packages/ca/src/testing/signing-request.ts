import { webcrypto } from "node:crypto";
import {
  type Extension,
  type JsonGeneralName,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from "../x509.js";

const algorithms = {
  "P-256": { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  "RSA 2048": {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2048,
    publicExponent: Uint8Array.of(1, 0, 1),
    hash: "SHA-256",
  },
} as const;

export interface SigningRequestOptions {
  readonly subject?: string;
  readonly extensions?: readonly Extension[];
  /** Default: P-256. */
  readonly key?: keyof typeof algorithms;
}

/** Returns a PKCS#10 request in PEM, with a key of its own. */
export async function signingRequest(
  names: readonly JsonGeneralName[],
  { subject, extensions = [], key = "P-256" }: SigningRequestOptions = {},
): Promise<string> {
  const algorithm = algorithms[key];
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    ...(subject !== undefined && { name: subject }),
    extensions: [...(names.length > 0 ? [new SubjectAlternativeNameExtension([...names], true)] : []), ...extensions],
  });
  return `${request.toString("pem")}\n`;
}
