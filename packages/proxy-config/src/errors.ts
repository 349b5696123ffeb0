/** The reason why a dump or a status cannot be used. */
export type ProxyConfigErrorCode =
  /** The text is not JSON. */
  | "invalid-json"
  /** The JSON is of another kind than expected. */
  | "unexpected-kind"
  /** The dump lacks the part that was asked for. */
  | "missing-section"
  /** A resource in the dump is not a message of its type. */
  | "invalid-resource";

/** An input that cannot be read as what it should be. The message names the part that is wrong. */
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
