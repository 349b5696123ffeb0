import type { CertificateStatus } from "./model.js";
import { day, duration } from "./time.js";

export interface AssessedCertificate extends CertificateStatus {
  /** It expires soon, or its renewal is late. */
  readonly isLate: boolean;
  /** Such as `expires in 12d`. */
  readonly verdict: string;
  /** The same in two words or so. */
  readonly brief: string;
}

/** An operator has so long to replace a certificate. */
const noticeMs = 30 * day;
/** A renewal may take so long, with attempts that fail. */
const renewalGraceMs = 5 * 60 * 1000;

/**
 * Judges a certificate: one that the control plane renews by its renewal, as it may live for a day only; others by the
 * time that is left.
 */
export function assessCertificate(certificate: CertificateStatus, now: number): AssessedCertificate {
  const { notBefore, notAfter, renewalDue } = certificate;
  const left = notAfter - now;
  if (left <= 0)
    return {
      ...certificate,
      isLate: true,
      verdict: left > -1000 ? "expired" : `expired ${duration(-left)} ago`,
      brief: "expired",
    };
  if (notBefore > now)
    return {
      ...certificate,
      isLate: true,
      verdict: `not valid for another ${duration(notBefore - now)}`,
      brief: "not valid yet",
    };
  const verdict = `expires in ${duration(left)}`;
  if (renewalDue === undefined)
    return { ...certificate, isLate: left < noticeMs, verdict, brief: `${duration(left)} left` };
  const isLate = now - renewalDue > renewalGraceMs;
  return {
    ...certificate,
    isLate,
    verdict: isLate ? `${verdict}, renewal is ${duration(now - renewalDue)} late` : verdict,
    brief: isLate ? "renewal late" : `${duration(left)} left`,
  };
}
