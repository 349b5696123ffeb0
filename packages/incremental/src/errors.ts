/**
 * `cycle`: a query needs its own result. `purity`: a query or fact was not pure, a context was used after its query
 * returned, or a commit was made inside a query, another commit or an observer. `key`: an argument is not a `Key`.
 * `released`: a view was used after its release, or a dry run after a commit.
 * `broken`: a call failed with an error that is not a result, such as a stack overflow; all memos were dropped.
 */
export type IncrementalErrorCode = "cycle" | "purity" | "key" | "released" | "broken";

/** The error of this package. */
export class IncrementalError extends Error {
  readonly code: IncrementalErrorCode;

  constructor(code: IncrementalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "IncrementalError";
    this.code = code;
  }
}

/**
 * A query needs its own result. Every query on the cycle fails with this error and cannot catch it; queries outside
 * may. `cycle` names each call once, as `name(arg)`, starting from the smallest name, so that the error is the same
 * wherever the cycle was entered.
 */
export class CycleError extends IncrementalError {
  readonly cycle: readonly string[];

  constructor(cycle: readonly string[]) {
    super("cycle", `cycle: ${[...cycle, cycle[0]].join(" → ")}`);
    this.name = "CycleError";
    this.cycle = cycle;
  }
}
