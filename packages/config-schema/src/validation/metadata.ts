import type { Place } from "./place.js";

const parseableBooleans = new Set(["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"]);
const trueWords = new Set(["1", "t", "T", "TRUE", "true", "True"]);

/** Reports whether an annotation's value means true. */
export function isTrue(value: string): boolean {
  return trueWords.has(value);
}

const internal = [
  "internal.istio.io/webhook-always-reject",
  "internal.istio.io/parent-namespace",
  "internal.istio.io/parents",
];
const dryRun = "istio.io/dry-run";

/**
 * Checks the annotations of Istio's kinds.
 *
 * @param dryRunAllowed undefined if the kind has no dry run
 */
export function checkAnnotations(
  annotations: Readonly<Record<string, string>>,
  dryRunAllowed: boolean | undefined,
  place: Place,
): void {
  for (const key of internal)
    if (key in annotations) place.at(key).error("is set, expected none: it is for istiod's own use");
  const value = annotations[dryRun];
  if (value === undefined) return;
  if (dryRunAllowed !== true)
    place.at(dryRun).error(`is set, expected it on AuthorizationPolicies that ALLOW or DENY only`);
  else if (!parseableBooleans.has(value))
    place.at(dryRun).error(`is ${JSON.stringify(value)}, expected "true" or "false"`);
}
