/**
 * `unreadable`: a source does not exist or permission is denied. `invalid`: configuration that is required at startup
 * was rejected.
 */
export type IngestionErrorCode = "unreadable" | "invalid";

/** The only error class of this package. Problems of documents are reported, not thrown. */
export class IngestionError extends Error {
  readonly code: IngestionErrorCode;

  constructor(code: IngestionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "IngestionError";
    this.code = code;
  }
}
