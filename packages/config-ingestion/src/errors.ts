/**
 * - `unreadable`: a source does not exist or cannot be read
 * - `forbidden`: a permission is missing; the message names it
 * - `invalid`: configuration that is required at startup was rejected
 * - `unknown-source`, `duplicate-source`: a source that an ingestion does not have, or has already
 */
export type IngestionErrorCode = "unreadable" | "forbidden" | "invalid" | "unknown-source" | "duplicate-source";

/** The only error class of this package. Problems of documents are reported, not thrown. */
export class IngestionError extends Error {
  readonly code: IngestionErrorCode;

  constructor(code: IngestionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "IngestionError";
    this.code = code;
  }
}
