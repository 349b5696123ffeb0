import { SubjectAlternativeNameExtension, X509Certificate } from "../x509.js";

/** Returns the DNS names, IP addresses and URIs of a certificate, in order. */
export function namesOf(der: Uint8Array): string[] {
  const extension = new X509Certificate(Uint8Array.from(der)).getExtension(SubjectAlternativeNameExtension);
  const names = extension?.names.items ?? [];
  return names
    .filter((name) => name.type === "dns" || name.type === "ip" || name.type === "url")
    .map((name) => name.value);
}
