import {
  anyType,
  boolType,
  goFunction,
  goList,
  GoInteger,
  GoMap,
  GoPointer,
  GoStruct,
  type GoType,
  goValue,
  integerTypes,
  mapOf,
  pointerTo,
  sliceOf,
  stringType,
  structType,
  type Value,
} from "@istiod/go-template";
import type { JsonObject } from "./json.js";
import { type Field, type FieldType, type ScalarName, structOf } from "./types.js";

/**
 * Returns a decoded object as the struct that templates see: Go's field names, and zero values for absent fields. The
 * fields are made when they are first read: a template reads few of the many that a large pod has.
 *
 * @param object not to be changed while the struct is used
 */
export function templateStruct(name: string, object: JsonObject): GoStruct {
  let members: Members | undefined;
  const read = (): Members => (members ??= readMembers(name, object));
  return new GoStruct(`v1.${name}`, () => read().fields, { json: () => read().json });
}

/** Members of a struct, by their names in Go, and those that are present by their names in JSON. */
interface Members {
  readonly fields: ReadonlyMap<string, Value>;
  readonly json: ReadonlyMap<string, Value>;
}

function readMembers(name: string, object: JsonObject): Members {
  const fields = new Map<string, Value>();
  const embedded = new Map<string, Map<string, Value>>();
  const json = new Map<string, Value>();
  for (const field of structOf(name).fields) {
    const value = templateValue(field.type, object[field.jsonName]);
    fields.set(field.goName, value);
    if (field.jsonName in object) json.set(field.jsonName, value);
    addEmbedded(embedded, field, value);
  }
  for (const [embeddedName, own] of embedded) fields.set(embeddedName, new GoStruct(`v1.${embeddedName}`, own));
  return { fields, json };
}

function addEmbedded(structs: Map<string, Map<string, Value>>, { embedded, goName }: Field, value: Value): void {
  if (embedded === undefined) return;
  const own = structs.get(embedded) ?? new Map<string, Value>();
  structs.set(embedded, own.set(goName, value));
}

function templateValue(type: FieldType, value: unknown): Value {
  switch (type.kind) {
    case "scalar":
      return scalarValue(type.name, value);
    case "pointer": {
      const { element } = type;
      if (element.kind !== "struct")
        return value === null || value === undefined ? null : templateValue(element, value);
      return new GoPointer(value ? templateStruct(element.name, value as JsonObject) : `v1.${element.name}`);
    }
    case "struct":
      return templateStruct(type.name, (value ?? {}) as JsonObject);
    case "list": {
      const items = value as readonly unknown[] | null | undefined;
      return goList(sliceOf(goTypeOf(type.element)), items?.map((item) => templateValue(type.element, item)) ?? null);
    }
    case "map": {
      const entries = value ? Object.entries(value as JsonObject) : undefined;
      return new GoMap(
        mapOf(stringType, goTypeOf(type.element)),
        entries?.map(([key, item]) => [key, templateValue(type.element, item)] as const) ?? null,
      );
    }
  }
}

function scalarValue(name: ScalarName, value: unknown): Value {
  switch (name) {
    case "string":
      return (value ?? "") as string;
    case "bool":
      return value === true;
    case "int32":
    case "int64":
      return new GoInteger(name, BigInt((value ?? 0) as number));
    case "Quantity":
      return textStruct("resource.Quantity", (value ?? "0") as string);
    case "IntOrString":
      return intOrString((value ?? 0) as number | string);
    case "Time":
      return textStruct("v1.Time", (value ?? "") as string);
    case "any":
      return goValue(value);
  }
}

/** Returns a struct that only has a text, in templates and in JSON. */
const textStruct = (name: string, text: string): GoStruct =>
  new GoStruct(
    name,
    {},
    { text: () => text, json: () => text, methods: { String: goFunction([], stringType, () => text) } },
  );

function intOrString(value: number | string): GoStruct {
  const isText = typeof value === "string";
  const text = String(value);
  const number = BigInt(isText ? Number.parseInt(value, 10) || 0 : value);
  const fields = {
    Type: new GoInteger("int64", isText ? 1n : 0n),
    IntVal: new GoInteger("int32", isText ? 0n : number),
    StrVal: isText ? value : "",
  };
  return new GoStruct("intstr.IntOrString", fields, {
    text: () => text,
    json: () => value,
    methods: {
      String: goFunction([], stringType, () => text),
      IntValue: goFunction([], integerTypes.int, () => number),
    },
  });
}

function goTypeOf(type: FieldType): GoType {
  switch (type.kind) {
    case "pointer":
      return type.element.kind === "struct" ? pointerTo(`v1.${type.element.name}`) : anyType;
    case "struct":
      return structType(`v1.${type.name}`);
    case "list":
      return sliceOf(goTypeOf(type.element));
    case "map":
      return mapOf(stringType, goTypeOf(type.element));
    case "scalar":
      return scalarTypes[type.name];
  }
}

const scalarTypes: Readonly<Record<ScalarName, GoType>> = {
  string: stringType,
  bool: boolType,
  int32: integerTypes.int32,
  int64: integerTypes.int64,
  Quantity: structType("resource.Quantity"),
  IntOrString: structType("intstr.IntOrString"),
  Time: structType("v1.Time"),
  any: anyType,
};
