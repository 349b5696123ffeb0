/** Kinds of values, with the names of Go's `reflect.Kind`. */
export type Kind =
  | "bool"
  | IntegerKind
  | "float64"
  | "string"
  | "slice"
  | "map"
  | "struct"
  | "ptr"
  | "func"
  | "interface"
  | "any value";

/** Kinds of integers. */
export type IntegerKind = SignedKind | UnsignedKind;
type SignedKind = "int" | "int8" | "int16" | "int32" | "int64";
type UnsignedKind = "uint" | "uint8" | "uint16" | "uint32" | "uint64";

declare const typescriptType: unique symbol;

/** A Go type. `T` is the TypeScript type in which functions receive its values. Equal types have equal names. */
export interface GoType<T = unknown> {
  /** The name that Go prints, such as `map[string]interface {}`. */
  readonly name: string;
  readonly kind: Kind;
  /** Type of the elements of a slice or map. */
  readonly element?: GoType;
  /** Type of the keys of a map. */
  readonly key?: GoType;
  readonly [typescriptType]?: T;
}

const signedBits = { int: 64, int8: 8, int16: 16, int32: 32, int64: 64 } as const;
const unsignedBits = { uint: 64, uint8: 8, uint16: 16, uint32: 32, uint64: 64 } as const;

/** Reports whether a kind is a signed integer. */
export const isSignedKind = (kind: Kind): kind is SignedKind => Object.hasOwn(signedBits, kind);

/** Reports whether a kind is an unsigned integer. */
export const isUnsignedKind = (kind: Kind): kind is UnsignedKind => Object.hasOwn(unsignedBits, kind);

/** Reports whether a kind is an integer. */
export const isIntegerKind = (kind: Kind): kind is IntegerKind => isSignedKind(kind) || isUnsignedKind(kind);

/** Returns an integer as the kind holds it after an overflow. */
export const wrapInteger = (kind: IntegerKind, value: bigint): bigint =>
  isSignedKind(kind) ? BigInt.asIntN(signedBits[kind], value) : BigInt.asUintN(unsignedBits[kind], value);

/** Reports whether a location of this type can hold nil. */
export const canBeNil = ({ kind }: GoType): boolean =>
  kind === "interface" ||
  kind === "map" ||
  kind === "ptr" ||
  kind === "slice" ||
  kind === "func" ||
  kind === "any value";
