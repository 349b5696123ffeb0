import { isIP } from "node:net";
import { type JsonGeneralName, SubjectAlternativeNameExtension, X509Certificate } from "../x509.js";

/**
 * Returns the extension for IP addresses, SPIFFE URIs and DNS names, which are distinguished by their form. It must be
 * critical if there is no subject (RFC 5280 §4.2.1.6).
 */
export function subjectAlternativeNames(names: readonly string[], critical: boolean): SubjectAlternativeNameExtension {
  return new SubjectAlternativeNameExtension(names.map(generalName), critical);
}

function generalName(name: string): JsonGeneralName {
  if (isIP(name)) return { type: "ip", value: name };
  if (name.startsWith("spiffe://")) return { type: "url", value: name };
  return { type: "dns", value: name };
}

/** Returns the DNS names, IP addresses and URIs of a certificate, in order. */
export function namesOf(der: Uint8Array): string[] {
  const extension = new X509Certificate(Uint8Array.from(der)).getExtension(SubjectAlternativeNameExtension);
  const names = extension?.names.items ?? [];
  return names
    .filter((name) => name.type === "dns" || name.type === "ip" || name.type === "url")
    .map((name) => name.value);
}
