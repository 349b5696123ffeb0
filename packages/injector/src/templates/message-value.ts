import { type DescEnum, type DescField, type DescMessage, ScalarType, type Message } from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import {
  anyType,
  goFunction,
  type GoFunction,
  GoInteger,
  goList,
  GoMap,
  GoPointer,
  GoStruct,
  type GoType,
  integerTypes,
  boolType,
  float64Type,
  mapOf,
  pointerTo,
  sliceOf,
  stringType,
  structType,
  type Value,
} from "@istiod/go-template";
import { goDurationText } from "@istiod/settings";

const messages = new WeakMap<GoStruct, ReflectMessage>();
const structs = new WeakMap<Message, GoStruct>();
const nilMethods = new WeakMap<DescMessage, ReadonlyMap<string, GoFunction>>();

/**
 * Returns a protobuf message as the pointer to a struct that Go's generated code has: fields and getters in Go's names.
 * The getters of a nil pointer return empty values.
 */
export function messagePointer(schema: DescMessage, message: Message | undefined): GoPointer {
  if (message === undefined) return nilPointer(schema);
  const known = structs.get(message);
  if (known !== undefined) return new GoPointer(known);
  const pointer = pointerOf(reflect(schema, message, false));
  if (pointer.target !== null) structs.set(message, pointer.target);
  return pointer;
}

/** Returns the message that a value of a template stands for; undefined for other values and nil pointers. */
export function messageOf(value: Value): ReflectMessage | undefined {
  const struct = value instanceof GoPointer ? value.target : value;
  return struct instanceof GoStruct ? messages.get(struct) : undefined;
}

function pointerOf(message: ReflectMessage): GoPointer {
  const fields = new Map<string, Value>();
  const methods = new Map<string, GoFunction>();
  for (const field of message.fields) {
    const value = fieldValue(field, message);
    const name = goName(field.name);
    if (field.oneof === undefined) fields.set(name, value);
    methods.set(
      `Get${name}`,
      goFunction([], anyType, () => value),
    );
  }
  for (const oneof of message.oneofs) fields.set(goName(oneof.name), null);
  addWellKnown(message, methods);
  const struct = new GoStruct(goTypeName(message.desc), fields, { methods });
  messages.set(struct, message);
  return new GoPointer(struct);
}

function nilPointer(schema: DescMessage): GoPointer {
  let methods = nilMethods.get(schema);
  if (methods === undefined) {
    const empty = (field: DescField) => goFunction([], anyType, () => zeroOf(field));
    const own = new Map<string, GoFunction>();
    for (const field of schema.fields) own.set(`Get${goName(field.name)}`, empty(field));
    if (schema.typeName === "google.protobuf.Duration") own.set("AsDuration", durationMethod(0n));
    nilMethods.set(schema, (methods = own));
  }
  return new GoPointer(goTypeName(schema), methods);
}

/** Returns the length of a duration that a template passes, in nanoseconds; 0 for nil. */
export function durationOf(value: Value): bigint {
  const message = messageOf(value);
  if (message?.desc.typeName !== "google.protobuf.Duration") return 0n;
  const { seconds = 0n, nanos = 0 } = message.message as Message & {
    readonly seconds?: bigint;
    readonly nanos?: number;
  };
  return seconds * 1_000_000_000n + BigInt(nanos);
}

function addWellKnown(message: ReflectMessage, methods: Map<string, GoFunction>): void {
  if (message.desc.typeName !== "google.protobuf.Duration") return;
  const { seconds = 0n, nanos = 0 } = message.message as Message & {
    readonly seconds?: bigint;
    readonly nanos?: number;
  };
  methods.set("AsDuration", durationMethod(seconds * 1_000_000_000n + BigInt(nanos)));
}

function durationMethod(nanoseconds: bigint): GoFunction {
  const text = goDurationText(nanoseconds);
  const methods = {
    String: goFunction([], stringType, () => text),
    Seconds: goFunction([], float64Type, () => Number(nanoseconds) / 1e9),
    Milliseconds: goFunction([], integerTypes.int64, () => nanoseconds / 1_000_000n),
    Nanoseconds: goFunction([], integerTypes.int64, () => nanoseconds),
  };
  const struct = new GoStruct("time.Duration", {}, { text: () => text, methods });
  return goFunction([], structType("time.Duration"), () => struct);
}

function fieldValue(field: DescField, message: ReflectMessage): Value {
  if (!message.isSet(field)) return zeroOf(field);
  switch (field.fieldKind) {
    case "message":
      return pointerOf(message.get(field));
    case "enum":
      return enumValue(field.enum, message.get(field) as number);
    case "scalar":
      return scalarValue(field.scalar, message.get(field));
    case "list": {
      const items = [...message.get(field)].map((item) => elementValue(field, item));
      return goList(sliceOf(elementType(field)), items);
    }
    case "map": {
      const entries = [...message.get(field)].map(([key, item]) => [String(key), elementValue(field, item)] as const);
      return new GoMap(mapOf(stringType, elementType(field)), entries);
    }
  }
}

type Repeated = Extract<DescField, { fieldKind: "list" } | { fieldKind: "map" }>;

function elementValue(field: Repeated, item: unknown): Value {
  const kind = field.fieldKind === "list" ? field.listKind : field.mapKind;
  if (kind === "message") return pointerOf(item as ReflectMessage);
  if (field.enum !== undefined) return enumValue(field.enum, item as number);
  return field.scalar === undefined ? null : scalarValue(field.scalar, item);
}

function elementType(field: Repeated): GoType {
  if (field.message !== undefined) return pointerTo(goTypeName(field.message));
  if (field.enum !== undefined) return structType(enumName(field.enum));
  return field.scalar === undefined ? anyType : scalarType(field.scalar);
}

function zeroOf(field: DescField): Value {
  switch (field.fieldKind) {
    case "message":
      return nilPointer(field.message);
    case "enum":
      return enumValue(field.enum, field.enum.values[0]?.number ?? 0);
    case "scalar":
      return scalarValue(field.scalar, undefined);
    case "list":
      return goList(sliceOf(elementType(field)), null);
    case "map":
      return new GoMap(mapOf(stringType, elementType(field)), null);
  }
}

/** An enum: it prints its name. */
function enumValue(schema: DescEnum, number: number): GoStruct {
  const text = schema.value[number]?.name ?? String(number);
  return new GoStruct(
    enumName(schema),
    {},
    {
      text: () => text,
      json: () => BigInt(number),
      methods: {
        String: goFunction([], stringType, () => text),
        Number: goFunction([], integerTypes.int32, () => BigInt(number)),
      },
    },
  );
}

function scalarValue(type: ScalarType, value: unknown): Value {
  switch (type) {
    case ScalarType.STRING:
      return (value ?? "") as string;
    case ScalarType.BOOL:
      return value === true;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value ?? 0) as number;
    case ScalarType.BYTES:
      return Buffer.from((value ?? new Uint8Array()) as Uint8Array).toString("base64");
    default: {
      const kind = scalarType(type).kind as "int32" | "int64" | "uint32" | "uint64";
      return new GoInteger(kind, BigInt((value ?? 0) as number | bigint));
    }
  }
}

function scalarType(type: ScalarType): GoType {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return stringType;
    case ScalarType.BOOL:
      return boolType;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return float64Type;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return integerTypes.uint32;
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return integerTypes.uint64;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return integerTypes.int64;
    default:
      return integerTypes.int32;
  }
}

/** Returns the Go name of a protobuf name, as protoc-gen-go forms it. */
const goName = (name: string): string =>
  name.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const enumName = ({ typeName }: DescEnum): string => qualified(typeName);
const goTypeName = ({ typeName }: DescMessage): string => qualified(typeName);

/** Returns `package.Outer_Inner` for a name such as `istio.mesh.v1alpha1.Outer.Inner`. */
function qualified(typeName: string): string {
  const parts = typeName.split(".");
  const first = parts.findIndex((part) => /^[A-Z]/.test(part));
  const packageName = parts[first - 1] ?? "";
  return `${packageName === "protobuf" ? wellKnownPackage(parts.at(-1) ?? "") : packageName}.${parts.slice(first).join("_")}`;
}

const wellKnownPackage = (name: string): string =>
  name.endsWith("Value") && name !== "Value" ? "wrapperspb" : `${name.toLowerCase()}pb`;
