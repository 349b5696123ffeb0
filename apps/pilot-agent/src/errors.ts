import { reasonOf } from "@istiod/runtime";

/**
 * Causes of an {@link AgentError}. The set is closed.
 *
 * - `option`: the value of a flag or environment variable is invalid.
 * - `configuration`: the proxy configuration or node metadata is invalid.
 * - `file`: a file is missing, cannot be read or written, or has invalid content.
 * - `address`: a port or socket cannot be listened on.
 * - `envoy`: Envoy is missing, did not start, or is not ready.
 * - `authority`: the certificate authority is unreachable or rejected the request.
 * - `redirection`: traffic cannot be redirected.
 * - `discovery`: istiod is unreachable or violated the protocol.
 * - `module`: a Wasm module cannot be fetched.
 */
export type AgentErrorCode =
  | "option"
  | "configuration"
  | "file"
  | "address"
  | "envoy"
  | "authority"
  | "redirection"
  | "discovery"
  | "module";

/** The error of this package. */
export class AgentError extends Error {
  override readonly name = "AgentError";
  /** Time after which the authority asks to be called again, in milliseconds. */
  readonly retryAfter: number | undefined;

  constructor(
    readonly code: AgentErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfter?: number | undefined } = {},
  ) {
    super(message, options);
    this.retryAfter = options.retryAfter;
  }

  /** Wraps a thrown value. An AgentError is returned unchanged. */
  static from(error: unknown, code: AgentErrorCode, context: string): AgentError {
    return error instanceof AgentError
      ? error
      : new AgentError(code, `${context}: ${reasonOf(error)}`, { cause: error });
  }
}
