import type { Fields } from "../../decoding/fields.js";
import { checkSelectorLabels } from "../../validation/kubernetes/fields.js";
import { optionalEnum } from "./checked-fields.js";

/** A Kubernetes label selector. */
export interface ObjectSelector {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly {
    readonly key: string;
    /** `In`, `NotIn`, `Exists` or `DoesNotExist`. */
    readonly operator: string;
    readonly values: readonly string[];
  }[];
}

/** Namespaces whose objects may attach. */
export interface NamespaceSelection {
  /** Absent: the default of the place. */
  readonly from?: "All" | "Selector" | "Same" | "None";
  /** Selects the labels of namespaces, if `from` is `Selector`. */
  readonly selector?: ObjectSelector;
}

/** Decodes a selection of namespaces. */
export function decodeNamespaceSelection(fields: Fields): NamespaceSelection {
  const selector = fields.object("selector");
  return {
    ...optionalEnum(fields, "from", ["All", "Selector", "Same", "None"]),
    ...(selector.present && { selector: decodeObjectSelector(selector) }),
  };
}

const withValues = ["In", "NotIn"];
const withoutValues = ["Exists", "DoesNotExist"];

/** Decodes a label selector, and reports operators and values that Kubernetes rejects. */
export function decodeObjectSelector(fields: Fields): ObjectSelector {
  const matchLabels = fields.stringMap("matchLabels");
  checkSelectorLabels(fields, "matchLabels", matchLabels);
  const matchExpressions = fields.list("matchExpressions").map((expression) => {
    const operator = expression.string("operator");
    const values = expression.strings("values");
    if (![...withValues, ...withoutValues].includes(operator))
      expression.fault(["operator"], operator, `one of ${[...withValues, ...withoutValues].join(", ")}`);
    else if (withValues.includes(operator) === (values.length === 0))
      expression.fault(["values"], values, `${values.length === 0 ? "values" : "none"} for operator ${operator}`);
    return { key: expression.string("key"), operator, values };
  });
  return { matchLabels, matchExpressions };
}
