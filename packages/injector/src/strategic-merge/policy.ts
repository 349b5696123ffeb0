import { InjectorError } from "../errors.js";
import { type FieldType, structOf } from "../go-types/types.js";

/** Rules by which a field is patched. */
export interface FieldPolicy {
  /** Type of the field, or of its elements if it is a list. */
  readonly element: FieldType;
  readonly merges: boolean;
  /** True if an object is replaced as a whole. */
  readonly replaces: boolean;
  readonly mergeKey: string | undefined;
}

/** JSON without a type: objects are merged, and lists replaced. */
const untyped: FieldType = { kind: "scalar", name: "any" };

/**
 * Returns how a field of a type is patched.
 *
 * @throws InjectorError `patch` if the type has no such field
 */
export function fieldPolicy(type: FieldType, key: string): FieldPolicy {
  const container = type.kind === "pointer" ? type.element : type;
  if (container.kind === "scalar" && container.name === "any")
    return { element: untyped, merges: false, replaces: false, mergeKey: undefined };
  if (container.kind !== "struct") throw new InjectorError("patch", `${key}: is no field of an object`);
  const field = structOf(container.name).byJsonName.get(key);
  if (field === undefined) throw new InjectorError("patch", `${container.name} has no field ${key}`);
  const element = field.type.kind === "list" ? field.type.element : field.type;
  const strategies = field.strategy.split(",");
  const [merges, replaces] = [strategies.includes("merge"), strategies.includes("replace")];
  return { element, merges, replaces, mergeKey: field.mergeKey };
}
