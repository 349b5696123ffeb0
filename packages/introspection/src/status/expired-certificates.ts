import { X509Certificate } from "node:crypto";
import type { ServingTls, TrustSource } from "@istiod/ca";

/**
 * Returns a sentence for each certificate that keeps clients from being served because it has expired: the one that
 * istiod serves with, and those between its CA's leaves and the root.
 *
 * @param now milliseconds since the epoch
 */
export function expiredCertificates(
  authority: Pick<TrustSource, "bundle"> | undefined,
  serving: Pick<ServingTls, "cert"> | undefined,
  now: number,
): readonly string[] {
  const signing = authority?.bundle.notAfter;
  const served = serving && Date.parse(new X509Certificate(serving.cert).validTo);
  return [
    ...(served !== undefined && served <= now ? [`serving certificate expired at ${isoTime(served)}`] : []),
    ...(signing !== undefined && signing <= now
      ? [`signing certificate, or one above it, expired at ${isoTime(signing)}`]
      : []),
  ];
}

function isoTime(time: number): string {
  return new Date(time).toISOString();
}
