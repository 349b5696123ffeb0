/** Reason for rejecting a node. */
export type ProxyNodeErrorCode = "invalid_id" | "invalid_type" | "no_address" | "invalid_metadata";

/** A node with an invalid ID or metadata; the message names the part. */
export class ProxyNodeError extends Error {
  override readonly name = "ProxyNodeError";

  constructor(
    readonly code: ProxyNodeErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
