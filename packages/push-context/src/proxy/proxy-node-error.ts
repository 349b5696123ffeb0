/** Why a node cannot be served. */
export type ProxyNodeErrorCode = "invalid_id" | "invalid_type" | "no_address" | "invalid_metadata";

/** A node whose identification or metadata cannot be read; its message names the part. */
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
