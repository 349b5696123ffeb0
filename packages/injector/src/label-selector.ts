import { InjectorError } from "./errors.js";

/** A Kubernetes label selector. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Reports whether a selector is empty. In Kubernetes, it matches everything; injection ignores it. */
export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/**
 * Reports whether a selector matches labels (Kubernetes, `metav1.LabelSelector`).
 *
 * @throws InjectorError `selector` for an unknown operator, or for missing or unexpected values
 */
export function selectorMatches(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const requirements = matchExpressions.map(({ key, operator, values = [] }) => {
    const value = labels[key];
    const takesValues = operator === "In" || operator === "NotIn";
    if (takesValues !== values.length > 0) {
      throw new InjectorError(
        "selector",
        `matchExpressions of ${key}: ${operator} takes ${takesValues ? "at least one value" : "no values"}`,
      );
    }
    switch (operator) {
      case "In":
        return value !== undefined && values.includes(value);
      case "NotIn":
        return value === undefined || !values.includes(value);
      case "Exists":
        return value !== undefined;
      case "DoesNotExist":
        return value === undefined;
      default:
        throw new InjectorError(
          "selector",
          `matchExpressions of ${key}: operator is ${operator}, expected In, NotIn, Exists or DoesNotExist`,
        );
    }
  });
  return requirements.every(Boolean) && Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
}
