import { X509Certificate } from "node:crypto";
import { CaError } from "./errors.js";

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/**
 * Splits a PEM text into its certificates, in order, each as one PEM block with a newline at its end. Text between
 * blocks is skipped.
 */
export function splitCertificates(pem: string): string[] {
  return (pem.match(certificateBlock) ?? []).map((block) => `${block.replaceAll("\r\n", "\n")}\n`);
}

/**
 * Parses all certificates of a PEM text, which must have at least one.
 *
 * @param what names the text in messages, such as a file
 * @throws CaError `malformed`
 */
export function parseCertificates(pem: string, what: string): X509Certificate[] {
  const blocks = splitCertificates(pem);
  if (blocks.length === 0) throw new CaError("malformed", `${what}: no PEM block "CERTIFICATE" found`);
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw CaError.from(error, "malformed", `${what}: certificate ${index + 1} of ${blocks.length} cannot be read`);
    }
  });
}

/** Encodes DER as one PEM block with a newline at its end. */
export function encodePem(label: string, der: Buffer): string {
  const lines = der.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}
