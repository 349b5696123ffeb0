/**
 * Reasons why a request failed.
 *
 * - `unauthorized` (401), `forbidden` (403), `not-found` (404), `invalid` (400, 422), `too-many-requests` (429)
 * - `already-exists`, `conflict`: 409 by the reason of the status
 * - `expired` (410): the resource version or the continue token is too old, list again
 * - `unavailable`: 503, 504, 500 and other answers of servers that may be repeated
 * - `not-acceptable` (406): the server does not serve the requested media type for this resource
 * - `network`: no answer, or a broken one
 * - `timeout`: no answer or no further data within the limit
 * - `aborted`: the caller's signal was aborted
 * - `fenced`: the lease that the request depends on is lost, or may be
 * - `malformed`: an answer that is not what the API promises
 * - `configuration`: a kubeconfig, token file or plugin that cannot be used
 */
export type ApiErrorCode =
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "already-exists"
  | "conflict"
  | "expired"
  | "invalid"
  | "too-many-requests"
  | "unavailable"
  | "not-acceptable"
  | "network"
  | "timeout"
  | "aborted"
  | "fenced"
  | "malformed"
  | "configuration";

export interface ApiErrorDetails extends ErrorOptions {
  /** HTTP status of the answer. */
  readonly status?: number;
  /** Reason of the answer's Status, for example `AlreadyExists`. */
  readonly reason?: string;
  /** Milliseconds after which the server asks to try again, from `Retry-After`. */
  readonly retryAfterMs?: number;
}

/** A request to an API server that failed. The message names the method and the path, and never a credential. */
export class ApiError extends Error {
  readonly code: ApiErrorCode;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ApiErrorCode, message: string, { status, reason, retryAfterMs, ...options }: ApiErrorDetails = {}) {
    super(message, options);
    this.name = "ApiError";
    this.code = code;
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}
