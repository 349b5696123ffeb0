import type { CaError } from "../errors.js";
import type { Caller } from "../identity/authenticator.js";
import type { Peer } from "../identity/peer.js";

/** Reason for which a request was turned away without an attempt to sign. The set is closed. */
export type RejectionReason = "queue-full" | "too-many-bodies" | "too-large" | "timeout" | "malformed";

/** A certificate that was issued. */
export interface Issuance {
  readonly names: readonly string[];
  readonly caller: Caller;
  readonly peer: Peer;
  /** Type and size of its key. */
  readonly key: string;
  /** Hexadecimal. */
  readonly serialNumber: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  /** Time from the request's headers to the response, in milliseconds. */
  readonly durationMs: number;
}

/** Events of requests. The comments name the corresponding Istio metrics, without the prefix `citadel_server_`. */
export interface CertificateEvents {
  /** `csr_count` */
  requested?(): void;
  /** `authentication_failure_count`; the reason is only for the log and not sent to the caller. */
  authenticationFailed?(error: CaError, peer: Peer): void;
  /** `csr_sign_err_count`; its label `error` is `signErrorLabel(error.code)`. */
  signingFailed?(error: CaError, caller: Caller, peer: Peer): void;
  /** `success_cert_issuance_count` */
  issued?(issuance: Issuance): void;
  /** The request was turned away. `caller` is absent if it was not authenticated yet. */
  rejected?(reason: RejectionReason, peer: Peer, caller: Caller | undefined): void;
}

/** Returns events that are passed to each of the given ones in turn. */
export function joinEvents(...all: readonly CertificateEvents[]): Required<CertificateEvents> {
  return {
    requested: () => all.forEach((events) => events.requested?.()),
    authenticationFailed: (...args) => all.forEach((events) => events.authenticationFailed?.(...args)),
    signingFailed: (...args) => all.forEach((events) => events.signingFailed?.(...args)),
    issued: (issuance) => all.forEach((events) => events.issued?.(issuance)),
    rejected: (...args) => all.forEach((events) => events.rejected?.(...args)),
  };
}
