import { ApiError, type ApiErrorCode } from "../api-error.js";

/** The fields of a Status that tell the cause of a failure. */
export interface FailureStatus {
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly code?: unknown;
  readonly details?: { readonly retryAfterSeconds?: unknown } | null;
}

const codesByStatus: Readonly<Record<number, ApiErrorCode>> = {
  400: "invalid",
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  405: "not-acceptable",
  406: "not-acceptable",
  409: "conflict",
  410: "expired",
  413: "invalid",
  415: "not-acceptable",
  422: "invalid",
  429: "too-many-requests",
};

/**
 * Returns the error for a failed request.
 *
 * @param action what failed, for example `GET /api/v1/pods`
 * @param status HTTP status, or the code of a watch's ERROR event
 * @param body body of the answer, a Status for answers of an API server itself
 * @param retryAfter header `Retry-After`: seconds, or a date
 */
export function statusError(
  action: string,
  status: number,
  body: FailureStatus,
  retryAfter: string | undefined,
  now: number,
): ApiError {
  const reason = typeof body.reason === "string" && body.reason !== "" ? body.reason : undefined;
  const message = typeof body.message === "string" ? body.message.slice(0, maxMessageLength) : "";
  const retryAfterMs = retryAfterOf(retryAfter, now) ?? secondsToMs(body.details?.retryAfterSeconds);
  return new ApiError(
    codeOf(status, reason),
    `${action}: ${status}${reason === undefined ? "" : ` ${reason}`}${message === "" ? "" : `: ${message}`}`,
    { status, ...(reason === undefined ? {} : { reason }), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  );
}

const maxMessageLength = 1000;

function codeOf(status: number, reason: string | undefined): ApiErrorCode {
  if (status === 409 && reason === "AlreadyExists") return "already-exists";
  if (status >= 500) return "unavailable";
  return codesByStatus[status] ?? "malformed";
}

function retryAfterOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function secondsToMs(seconds: unknown): number | undefined {
  return typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined;
}
