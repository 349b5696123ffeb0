/**
 * `cycle`: a query needs its own result. `purity`: a database was written or entered from inside a query, or a context was used after
 * its query returned. `key`: an argument that is no `Key`. `index`: an index's function threw. `released`: a view was used after release.
 * `broken`: a call broke off for a reason that is nobody's result, such as a full call stack; all memos were forgotten.
 */
export type IncrementalErrorCode = "cycle" | "purity" | "key" | "index" | "released" | "broken";

/** The only kind of error that this package throws by itself. */
export class IncrementalError extends Error {
  readonly code: IncrementalErrorCode;

  constructor(code: IncrementalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "IncrementalError";
    this.code = code;
  }
}

/**
 * A query needs its own result. Every query on the cycle fails with this error and cannot catch it; queries outside may.
 * `cycle` names each call once, as `name(arg)`, starting from the smallest name, so that the error is the same wherever the cycle was entered.
 */
export class CycleError extends IncrementalError {
  readonly cycle: readonly string[];

  constructor(cycle: readonly string[]) {
    super("cycle", `cycle: ${[...cycle, cycle[0]].join(" → ")}`);
    this.name = "CycleError";
    this.cycle = cycle;
  }
}
