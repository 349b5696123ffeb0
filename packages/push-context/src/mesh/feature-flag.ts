import { environment } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";

/** An environment variable of istiod, read as an input so that queries depend on it. */
export interface Feature<T> {
  (q: QueryContext): T;
  /** Name of the environment variable. */
  readonly variable: string;
  /** Value if the variable is unset or cannot be parsed. */
  readonly default: T;
}

/** A boolean variable, in the spellings that Go's strconv.ParseBool accepts. */
export function booleanFeature(variable: string, fallback: boolean): Feature<boolean> {
  return feature(variable, fallback, parseBoolean);
}

export function stringFeature(variable: string, fallback: string): Feature<string> {
  return feature(variable, fallback, (text) => text);
}

/** Like {@link stringFeature}, but an empty value counts as unset. */
export function nameFeature(variable: string, fallback: string): Feature<string> {
  return feature(variable, fallback, (text) => (text === "" ? undefined : text));
}

/** An integer variable. */
export function integerFeature(variable: string, fallback: number): Feature<number> {
  return feature(variable, fallback, (text) => (/^[+-]?\d+$/.test(text) ? Number(text) : undefined));
}

export function floatFeature(variable: string, fallback: number): Feature<number> {
  return feature(variable, fallback, (text) => {
    const value = Number(text);
    return text.trim() === "" || !Number.isFinite(value) ? undefined : value;
  });
}

/** A duration in Go's syntax ("100ms", "1m30s"); the value is in milliseconds. */
export function durationFeature(variable: string, fallbackMs: number): Feature<number> {
  return feature(variable, fallbackMs, parseDuration);
}

/** A comma-separated list, sorted and deduplicated; empty if the variable is unset or empty. */
export function listFeature(variable: string): Feature<readonly string[]> {
  return feature<readonly string[]>(variable, [], (text) => (text === "" ? [] : [...new Set(text.split(","))].sort()));
}

/** A variable that is read only if `condition` holds; `otherwise` is the value if it does not. */
export function featureWhen<T>(condition: Feature<boolean>, enabled: Feature<T>, otherwise: T): Feature<T> {
  return Object.assign((q: QueryContext) => (condition(q) ? enabled(q) : otherwise), {
    variable: enabled.variable,
    default: otherwise,
  });
}

function feature<T>(variable: string, fallback: T, parse: (text: string) => T | undefined): Feature<T> {
  const read = (q: QueryContext): T => {
    const text = q.read(environment, variable);
    return text === undefined ? fallback : (parse(text) ?? fallback);
  };
  return Object.assign(read, { variable, default: fallback });
}

function parseBoolean(text: string): boolean | undefined {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(text)) return false;
  return undefined;
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const match = /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/.exec(text);
  if (match === null) return undefined;
  let total = 0;
  for (const [, amount, unit] of (match[2] ?? "").matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(amount) * (unitMs[unit ?? ""] ?? 0);
  }
  return match[1] === "-" ? -total : total;
}
