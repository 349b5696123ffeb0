import type { Place } from "./place.js";

/** Maximum sum of a route's weights, in Envoy's weighted clusters. */
export const maxTotalWeight = 2 ** 32 - 1;

export function checkNotNegative(value: number, place: Place): void {
  if (value < 0) place.error(`is ${value}, expected 0 or more`);
}

export function checkRange(value: number, least: number, most: number, place: Place): void {
  if (!(value >= least && value <= most)) place.error(`is ${value}, expected ${least} to ${most}`);
}

/** Checks a percentage: 0 to 100. */
export function checkPercent(value: number, place: Place): void {
  checkRange(value, 0, 100, place);
}
