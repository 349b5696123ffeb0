import type { Figure } from "../measure.js";

/** Returns the percentiles of durations in milliseconds. */
export function percentiles(took: readonly number[]): readonly Figure[] {
  const sorted = [...took].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return [
    { what: "  p50", value: at(0.5), unit: "ms" },
    { what: "  p99", value: at(0.99), unit: "ms" },
    { what: "  maximum", value: at(1), unit: "ms" },
  ];
}
