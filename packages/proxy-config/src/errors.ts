/** Reason why a dump or status is invalid. */
export type ProxyConfigErrorCode =
  /** The text is not JSON. */
  | "invalid-json"
  /** The JSON does not have the expected structure. */
  | "unexpected-kind"
  /** The dump does not have the requested section. */
  | "missing-section"
  /** A resource in the dump is not a message of its type. */
  | "invalid-resource";

/** An invalid input. The message names the invalid part. */
export class ProxyConfigError extends Error {
  override readonly name = "ProxyConfigError";

  constructor(
    readonly code: ProxyConfigErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
