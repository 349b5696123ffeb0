import { InjectorError } from "../errors.js";

/** A Kubernetes label selector. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Whether a selector says nothing. Kubernetes lets an empty one match everything; for injection it does not count. */
export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/**
 * Whether labels meet all that a selector asks (Kubernetes, `metav1.LabelSelector`).
 *
 * @throws InjectorError `selector` for an unknown operator, or values where none or some are expected
 */
export function selectorMatches(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const meets = matchExpressions.map(({ key, operator, values = [] }) => {
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
  return meets.every(Boolean) && Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
}
