/** A source of the token that authenticates the workload to istiod and its certificate authority. */
export interface TokenSource {
  /** Names the source in errors: a file or server. */
  readonly name: string;
  /**
   * Returns the current token. Call it for each request, as tokens are rotated.
   *
   * @returns `undefined` if there is none; a client certificate may authenticate the workload instead
   * @throws AgentError `file` or `authority`
   */
  read(): Promise<string | undefined>;
}
