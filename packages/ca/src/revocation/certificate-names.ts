import type { X509Certificate } from "node:crypto";
import { DerReader } from "../der/reader.js";
import { contextConstructed, tags } from "../der/tags.js";

/** The fields by which revocation lists refer to a certificate. */
export interface CertificateNames {
  /** DER of the names in hexadecimal. */
  readonly issuer: string;
  readonly subject: string;
  /** Lower-case hexadecimal without leading zeros. */
  readonly serialNumber: string;
}

const cache = new WeakMap<X509Certificate, CertificateNames>();

/** Returns the names and serial number of a certificate. @throws DerError */
export function certificateNames(certificate: X509Certificate): CertificateNames {
  let names = cache.get(certificate);
  if (names === undefined) cache.set(certificate, (names = parse(certificate.raw)));
  return names;
}

/** Returns the contents of an INTEGER in lower-case hexadecimal without leading zeros. */
export function serialNumberOf(integer: Buffer): string {
  return integer.toString("hex").replace(/^0+/, "");
}

function parse(der: Buffer): CertificateNames {
  const tbs = new DerReader(der)
    .enter(tags.sequence, "certificate")
    .enter(tags.sequence, "signed part of the certificate");
  if (tbs.nextTag === contextConstructed(0)) tbs.contents(contextConstructed(0), "version");
  const serialNumber = serialNumberOf(tbs.contents(tags.integer, "serial number"));
  tbs.contents(tags.sequence, "signature algorithm");
  const issuer = tbs.element(tags.sequence, "issuer").toString("hex");
  tbs.contents(tags.sequence, "validity");
  return { issuer, subject: tbs.element(tags.sequence, "subject").toString("hex"), serialNumber };
}
