import { JwksError, type JwksErrorCode } from "../jwks-error.js";

const maxReasonLength = 300;

/** Returns the reason of a failed connection, without line breaks and of bounded length. */
export function connectionReason(error: unknown): { readonly code: JwksErrorCode; readonly reason: string } {
  // A connection to several addresses fails with the errors of all.
  const all = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error];
  const [first] = all;
  const checked = [error, ...all].map(causeOf).find((each) => each instanceof JwksError);
  if (checked !== undefined) return { code: checked.code, reason: checked.message };
  const { message = String(first), code = "" } = (first ?? {}) as NodeJS.ErrnoException;
  const text = message === "" ? code || "the connection failed" : message;
  const named = code === "" || text.includes(code) ? text : `${text} (${code})`;
  return { code: "connection", reason: named.replaceAll(/\p{Cc}+/gu, " ").slice(0, maxReasonLength) };
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && !(error instanceof JwksError) && error.cause !== undefined ? error.cause : error;
}
