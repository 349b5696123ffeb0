import { clone, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { reflect, type ReflectList, type ReflectMap, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import type { Any } from "@bufbuild/protobuf/wkt";
import { PatchError } from "./patch.js";
import { pack, packedName, unpack } from "./value/packed.js";

/** How lists are merged: appended, or replaced by a list that is not empty. */
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
 * Returns the merge of two packed messages of one type. Unknown types are not merged: the first stays.
 *
 * @throws PatchError if the types differ
 */
export function mergePacked(into: Any, from: Any): Any {
  if (packedName(into) !== packedName(from))
    throw new PatchError(`typed_config is ${packedName(from)}, expected ${packedName(into)} as in the configuration`);
  const [target, source] = [unpack(into), unpack(from)];
  if (target === undefined || source === undefined) return into;
  mergeMessage(target.schema, target.message, source.message);
  return pack(target.schema, target.message);
}
