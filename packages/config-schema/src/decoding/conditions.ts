import type { NegativeCondition } from "../config-object.js";
import type { Manifest } from "../kinds/kind.js";
import { record } from "./json.js";
import type { FieldPath } from "./report.js";

/**
 * Returns the negative or partially negative conditions of the given types, from a status and from the status of each
 * parent of a route.
 */
export function readNegativeConditions({ body }: Manifest, types: readonly string[]): readonly NegativeCondition[] {
  const status = record(body["status"]);
  if (status === undefined) return [];
  const parents = list(status["parents"]).flatMap((parent, i) => {
    const controllerName = record(parent)?.["controllerName"];
    return conditionsOf(parent, ["status", "parents", i, "conditions"], types).map((condition) => ({
      ...condition,
      ...(typeof controllerName === "string" && { controllerName }),
    }));
  });
  return [...conditionsOf(status, ["status", "conditions"], types), ...parents];
}

function conditionsOf(status: unknown, path: FieldPath, types: readonly string[]): readonly NegativeCondition[] {
  return list(record(status)?.["conditions"]).flatMap((value, i) => {
    const condition = record(value) ?? {};
    const text = (name: string): string => (typeof condition[name] === "string" ? condition[name] : "");
    const [type, reason] = [text("type"), text("reason")];
    const isNegative = text("status") === "False" || (type === "WaypointAccepted" && reason === "PartiallyInvalid");
    return isNegative && types.includes(type)
      ? [{ type, status: text("status"), reason, message: text("message"), path: [...path, i] }]
      : [];
  });
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
