import type { LabelSelector } from "@istiod/istio-api/mesh/v1alpha1/config";
import { each, type Place } from "../validation/place.js";

/** A Kubernetes label selector, of the mesh configuration or of another object. */
interface Selector {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values: readonly string[];
  }[];
}

/**
 * Reports whether a Kubernetes label selector matches. An empty selector matches everything. A selector with an unknown
 * operator, or with values that its operator does not allow, matches nothing.
 */
export function matchesLabelSelector(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  for (const name in selector.matchLabels) {
    if (labels[name] !== selector.matchLabels[name]) return false;
  }
  return selector.matchExpressions.every(({ key, operator, values }) => {
    const value = labels[key];
    switch (operator) {
      case "In":
        return value !== undefined && values.includes(value);
      case "NotIn":
        return values.length > 0 && (value === undefined || !values.includes(value));
      case "Exists":
        return values.length === 0 && value !== undefined;
      case "DoesNotExist":
        return values.length === 0 && value === undefined;
      default:
        return false;
    }
  });
}

const withValues = ["In", "NotIn"];
const withoutValues = ["Exists", "DoesNotExist"];

/** Validates a label selector as Kubernetes' `LabelSelectorAsSelector` does. */
export function checkLabelSelector({ matchExpressions }: LabelSelector, place: Place): void {
  each(matchExpressions, place.at("matchExpressions"), ({ operator, values }, at) => {
    const known = [...withValues, ...withoutValues];
    if (!known.includes(operator))
      at.at("operator").error(`is ${JSON.stringify(operator)}, expected one of ${known.join(", ")}`);
    else if (withValues.includes(operator) && values.length === 0)
      at.at("values").error(`is empty, expected values for operator ${operator}`);
    else if (withoutValues.includes(operator) && values.length > 0)
      at.at("values").error(`is set, expected none for operator ${operator}`);
  });
}
