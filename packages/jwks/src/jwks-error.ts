/** Reason why a document cannot be fetched or used. */
export type JwksErrorCode =
  /** The URL cannot be fetched, whatever the network: another scheme, or an issuer that is no URL. */
  | "url"
  /** The address must not be reached. */
  | "address"
  | "redirect"
  | "timeout"
  | "too-large"
  /** The server answered with another status than 2xx. */
  | "status"
  /** The connection failed: name resolution, TCP or TLS. */
  | "connection"
  /** The answer is not the expected document. */
  | "document"
  /** The fetch was ended because nothing needs the document any more. */
  | "aborted";

/** An error of a fetch. The message says what was wrong, without content of the answer. */
export class JwksError extends Error {
  override readonly name = "JwksError";

  constructor(
    readonly code: JwksErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
