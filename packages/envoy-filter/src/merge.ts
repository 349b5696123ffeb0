import { clone, create, type DescField, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { reflect, type ReflectList, type ReflectMap, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import { WireType } from "@bufbuild/protobuf/wire";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { joinEncoded } from "@istiod/protobuf-wire";
import { PatchError } from "./patch.js";
import { packedName, unpack } from "./value/packed.js";

/** The way of merging lists: appending, or replacing by a list that is not empty. */
export type ListMerge = "append" | "replace";

/**
 * Merges a message into another of the same type, as protobuf does, except that a Duration is replaced. As in protobuf,
 * a field without presence that has its zero value changes nothing, also within a wrapper such as BoolValue. Source:
 * pkg/proto/merge/merge.go.
 */
export function mergeMessage(schema: DescMessage, into: Message, from: Message, lists: ListMerge = "append"): void {
  mergeFields(reflect(schema, into), reflect(schema, clone(schema, from)), lists);
}

function mergeFields(into: ReflectMessage, from: ReflectMessage, lists: ListMerge): void {
  for (const field of from.fields) {
    if (!from.isSet(field)) continue;
    if (field.fieldKind === "list") mergeList(into.get(field), from.get(field), lists);
    else if (field.fieldKind === "map") mergeMap(into.get(field), from.get(field));
    else if (field.fieldKind === "message") mergeField(into, from, field, lists);
    else into.set(field, from.get(field));
  }
  const unknown = from.getUnknown() ?? [];
  if (unknown.length > 0) into.setUnknown([...(into.getUnknown() ?? []), ...unknown]);
}

function mergeField(
  into: ReflectMessage,
  from: ReflectMessage,
  field: DescField & { fieldKind: "message" },
  lists: ListMerge,
): void {
  const value = from.get(field);
  if (!into.isSet(field) || field.message.typeName === "google.protobuf.Duration") return into.set(field, value);
  const merged = into.get(field);
  mergeFields(merged, value, lists);
  // Wrappers and Structs are read as copies.
  into.set(field, merged);
}

function mergeList(into: ReflectList, from: ReflectList, lists: ListMerge): void {
  if (lists === "replace") into.clear();
  for (const item of from) into.add(item);
}

function mergeMap(into: ReflectMap, from: ReflectMap): void {
  for (const [key, value] of from) into.set(key, value);
}

/**
 * Returns the merge of two packed messages of one type, of which only the second is decoded. An unknown type is not
 * merged: the first stays.
 *
 * @throws PatchError if the types differ
 */
export function mergePacked(into: Any, from: Any): Any {
  return create(AnySchema, { typeUrl: into.typeUrl, value: joinEncoded([into.value, packedAddition(into, from)]) });
}

/**
 * Returns the bytes that merge a packed message into another one, if they are appended to those of the other.
 *
 * @throws PatchError if the types differ
 */
export function packedAddition(into: Pick<Any, "typeUrl">, from: Any): Uint8Array {
  if (packedName(into) !== packedName(from))
    throw new PatchError(`typed_config is ${packedName(from)}, expected ${packedName(into)} as in the configuration`);
  let added = mergeablePacked.get(from);
  if (added === undefined) {
    const source = unpack(from);
    added = source === undefined ? new Uint8Array(0) : mergeableBytes(source.schema, source.message);
    mergeablePacked.set(from, added);
  }
  return added;
}

/** The mergeable bytes of packed messages of patches, which are merged into many resources. */
const mergeablePacked = new WeakMap<Any, Uint8Array>();

/**
 * Returns the encoding of a message which, appended to that of another one of the type, is the encoding of their merge,
 * as by {@link mergeMessage} with lists that are appended: protobuf merges fields that occur twice.
 */
export function mergeableBytes(schema: DescMessage, message: Message): Uint8Array {
  const copy = clone(schema, message);
  setDurationZeros(reflect(schema, copy));
  return toBinary(schema, copy);
}

/** Encodes the zeros of Durations, too, so that they replace other values. */
function setDurationZeros(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (field.fieldKind !== "message" || !message.isSet(field)) continue;
    const value = message.get(field);
    if (field.message.typeName !== "google.protobuf.Duration") setDurationZeros(value);
    else value.setUnknown(value.fields.filter((each) => !value.isSet(each)).map(({ number }) => zero(number)));
    message.set(field, value);
  }
}

function zero(number: number): { no: number; wireType: WireType; data: Uint8Array } {
  return { no: number, wireType: WireType.Varint, data: new Uint8Array([0]) };
}
