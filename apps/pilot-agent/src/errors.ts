/**
 * Why the agent cannot do what it was told. The set is closed.
 *
 * - `option`: a flag or environment variable has a value that cannot be read.
 * - `configuration`: the proxy configuration or node metadata is wrong.
 * - `file`: a file is missing, cannot be read or written, or does not hold what it should.
 * - `address`: a port or socket cannot be listened on.
 * - `envoy`: Envoy is missing, did not start, or did not answer.
 * - `authority`: the certificate authority cannot be reached or refused.
 * - `redirection`: traffic cannot be redirected.
 * - `discovery`: istiod cannot be reached or answered out of protocol.
 */
export type AgentErrorCode =
  "option" | "configuration" | "file" | "address" | "envoy" | "authority" | "redirection" | "discovery";

/** The only error that this package throws on purpose. Its message is one sentence for a person. */
export class AgentError extends Error {
  override readonly name = "AgentError";

  constructor(
    readonly code: AgentErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  /** Wraps anything that was thrown; an AgentError is given back as it is. */
  static from(error: unknown, code: AgentErrorCode, context: string): AgentError {
    return error instanceof AgentError
      ? error
      : new AgentError(code, `${context}: ${reasonOf(error)}`, { cause: error });
  }
}

/** The words of anything that was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
