import { TemplateError } from "./error.js";

/** Limits of an execution, so that templates and values of others cannot exhaust time or memory. */
export interface Limits {
  /** Commands, iterations and visited parts of values. Default: 1,000,000, about a second. */
  readonly steps?: number;
  /** UTF-16 code units of the output, and of each string. Default: 4 Mi. */
  readonly length?: number;
  /** Depth of templates that call each other. Default: 500. Go's limit of 100,000 would exceed Node's stack. */
  readonly templateDepth?: number;
}

export const defaultLimits: Required<Limits> = { steps: 1_000_000, length: 4 * 2 ** 20, templateDepth: 500 };

interface Budget {
  steps: number;
  readonly limits: Required<Limits>;
}

const unlimited: Budget = { steps: Infinity, limits: defaultLimits };

// Executions are synchronous, so that the current one is known to functions without a parameter in each of them.
let current = unlimited;

/**
 * Runs an execution with limits.
 *
 * @throws TemplateError `limit`
 */
export function withLimits<T>(limits: Limits, run: () => T): T {
  const outer = current;
  const all = { ...defaultLimits, ...limits };
  current = { steps: all.steps, limits: all };
  try {
    return run();
  } catch (cause) {
    if (isStackOverflow(cause)) throw new TemplateError("limit", "template: exceeded the maximum depth", { cause });
    throw cause;
  } finally {
    current = outer;
  }
}

/** Reports whether an error is Node's for a stack that is too deep. */
export const isStackOverflow = (cause: unknown): boolean =>
  cause instanceof RangeError && cause.message.startsWith("Maximum call stack");

/**
 * Counts steps of the current execution.
 *
 * @throws TemplateError `limit`
 */
export function spend(steps: number): void {
  current.steps -= steps;
  if (current.steps < 0)
    throw new TemplateError("limit", `template: exceeded the maximum number of steps (${current.limits.steps})`);
}

/**
 * Checks the length of a string that an execution creates.
 *
 * @throws TemplateError `limit`
 */
export function checkLength(length: number): void {
  if (length > current.limits.length)
    throw new TemplateError("limit", `template: exceeded the maximum length of text (${current.limits.length})`);
}
