/**
 * `unreadable`: a source does not exist or may not be read. `invalid`: configuration that is needed to start was
 * refused.
 */
export type IngestionErrorCode = "unreadable" | "invalid";

/** The only kind of error that this package throws. What is wrong with documents is reported, not thrown. */
export class IngestionError extends Error {
  readonly code: IngestionErrorCode;

  constructor(code: IngestionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "IngestionError";
    this.code = code;
  }
}
