import type { CertificateStatus } from "./model.js";
import { day, duration } from "./time.js";

export interface AssessedCertificate extends CertificateStatus {
  /** True if it expires soon, or its renewal is overdue. */
  readonly isLate: boolean;
  /** Description such as `expires in 12d`. */
  readonly verdict: string;
  /** Short form of the description. */
  readonly brief: string;
}

/** Time before expiry at which an operator is warned to replace a certificate. */
const noticeMs = 30 * day;
/** Grace period for an automatic renewal, including failed attempts. */
const renewalGraceMs = 5 * 60 * 1000;

/**
 * Assesses a certificate. Automatically renewed certificates are assessed by their renewal time, because they may live
 * for only a day, and others by their expiry.
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
