/**
 * Reports whether a TLS cipher suite is known to Envoy, or is an expression such as `ALL`, which Envoy interprets.
 * Others are skipped, since Envoy would reject the listener. Source: Istio's `IsValidCipherSuite`.
 */
export function isCipherSuite(suite: string): boolean {
  return suite === "" || suite === "ALL" || !/^[\p{L}\p{N}]/u.test(suite) || known.has(suite);
}

const known = new Set([
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-SHA",
  "ECDHE-RSA-AES128-SHA",
  "ECDHE-ECDSA-AES256-SHA",
  "ECDHE-RSA-AES256-SHA",
  "AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-SHA",
  "AES256-SHA",
  "DES-CBC3-SHA",
]);
