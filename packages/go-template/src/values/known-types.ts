import type { GoType, IntegerKind } from "./types.js";
import type { GoList, GoMap, GoPointer, GoStruct, Value } from "./values.js";

/** `interface {}`: any value, also nil. */
export const anyType: GoType<Value> = { name: "interface {}", kind: "interface" };
/** `string`. */
export const stringType: GoType<string> = { name: "string", kind: "string" };
/** `bool`. */
export const boolType: GoType<boolean> = { name: "bool", kind: "bool" };
/** `float64`. */
export const float64Type: GoType<number> = { name: "float64", kind: "float64" };

const integer = (kind: IntegerKind): GoType<bigint> => ({ name: kind, kind });

/** Types of integers by their kind. */
export const integerTypes = {
  int: integer("int"),
  int8: integer("int8"),
  int16: integer("int16"),
  int32: integer("int32"),
  int64: integer("int64"),
  uint: integer("uint"),
  uint8: integer("uint8"),
  uint16: integer("uint16"),
  uint32: integer("uint32"),
  uint64: integer("uint64"),
} as const satisfies Record<IntegerKind, GoType<bigint>>;

/** Returns the type of a slice. */
export const sliceOf = (element: GoType): GoType<GoList> => ({ name: `[]${element.name}`, kind: "slice", element });

/** Returns the type of a map; keys are strings or integers. */
export const mapOf = (key: GoType, element: GoType): GoType<GoMap> => ({
  name: `map[${key.name}]${element.name}`,
  kind: "map",
  key,
  element,
});

/** Returns the type of a struct, for parameters of functions. */
export const structType = (name: string): GoType<GoStruct> => ({ name, kind: "struct" });

/** Returns the type of a pointer to a struct, for parameters of functions. */
export const pointerTo = (name: string): GoType<GoPointer> => ({ name: `*${name}`, kind: "ptr" });

/** `[]interface {}`. */
export const anySliceType = sliceOf(anyType);
/** `[]string`. */
export const stringSliceType = sliceOf(stringType);
/** `map[string]interface {}`. */
export const anyMapType = mapOf(stringType, anyType);
/** `map[string]string`. */
export const stringMapType = mapOf(stringType, stringType);
