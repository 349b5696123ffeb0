import { reasonOf } from "@istiod/runtime";

/**
 * Reason why an operation of this package failed. The set is closed, so that callers can switch over it.
 *
 * - `not-ready`: there is no signing certificate, or it has expired.
 * - `csr`: the signing request is malformed, its signature is wrong, or its key is not accepted.
 * - `ttl`: the requested lifetime is longer than allowed.
 * - `signing`: the certificate could not be created, or what a signer returned is not the certificate requested.
 * - `signer-root`: no root of an external signer is known, or its certificate does not lead to it.
 * - `unauthenticated`: the caller did not prove an identity of the trust domain, or may not have the requested names.
 * - `impersonation`: the caller may not have a certificate of the identity that it requested in place of its own.
 * - `identity`: a name is not a SPIFFE identity or not a valid part of one.
 * - `incomplete`: some files of a CA are missing.
 * - `malformed`: a file or PEM text does not have the expected contents.
 * - `key-mismatch`: the private key does not belong to the certificate.
 * - `untrusted`: a certificate does not chain to the root, has expired, or may not sign.
 * - `root-change`: a reload would replace the root certificates.
 * - `store`: a file or the stored root cannot be read or written.
 */
export type CaErrorCode =
  | "not-ready"
  | "csr"
  | "ttl"
  | "signing"
  | "signer-root"
  | "unauthenticated"
  | "impersonation"
  | "identity"
  | "incomplete"
  | "malformed"
  | "key-mismatch"
  | "untrusted"
  | "root-change"
  | "store";

/** The error class of this package. */
export class CaError extends Error {
  override readonly name = "CaError";

  constructor(
    readonly code: CaErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  /** Wraps a thrown value. Returns a CaError unchanged. */
  static from(error: unknown, code: CaErrorCode, context: string): CaError {
    if (error instanceof CaError) return error;
    const reason = reasonOf(error);
    return new CaError(code, `${context}: ${reason}`, { cause: error });
  }
}
