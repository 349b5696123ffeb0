import type { X509Certificate } from "node:crypto";
import { CaError } from "../errors.js";
import { certificateNames } from "./certificate-names.js";
import type { RevocationList } from "./revocation-list.js";

/**
 * Checks that the lists of an issuer do not revoke a certificate. As in Envoy, where there are lists, every issuer must
 * have one that is current: otherwise nothing tells whether the certificate was revoked.
 *
 * @param lists of all issuers; nothing is checked without any
 * @param now milliseconds since the epoch
 * @throws CaError `untrusted`
 */
export function checkRevocation(
  certificate: X509Certificate,
  issuer: X509Certificate,
  lists: readonly RevocationList[],
  now: number,
): void {
  if (lists.length === 0) return;
  const { serialNumber } = certificateNames(certificate);
  const own = currentLists(issuer, lists, now);
  if (own.some(({ revoked }) => revoked.has(serialNumber)))
    throw new CaError("untrusted", `has revoked the certificate with serial ${certificate.serialNumber}`);
}

/**
 * Returns the lists of an issuer.
 *
 * @throws CaError `untrusted` if there are none, or if one is not valid yet or has expired
 */
export function currentLists(
  issuer: X509Certificate,
  lists: readonly RevocationList[],
  now: number,
): readonly RevocationList[] {
  const { subject } = certificateNames(issuer);
  const named = lists.filter((list) => list.issuer === subject);
  if (named.length === 0) throw new CaError("untrusted", "has no revocation list");
  const own = named.filter((list) => list.isSignedBy(issuer));
  if (own.length === 0) throw new CaError("untrusted", "has a revocation list whose signature does not match its key");
  for (const { thisUpdate, nextUpdate } of own) {
    if (thisUpdate > now)
      throw new CaError(
        "untrusted",
        `has a revocation list that is not valid before ${new Date(thisUpdate).toISOString()}`,
      );
    if (nextUpdate !== undefined && nextUpdate <= now)
      throw new CaError("untrusted", `has a revocation list that expired at ${new Date(nextUpdate).toISOString()}`);
  }
  return own;
}
