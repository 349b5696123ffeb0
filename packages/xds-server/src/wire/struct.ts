import { FieldReader, WireError } from "@istiod/protobuf-wire";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Field number of `Struct.fields` and of `ListValue.values`. */
const membersField = 1;
/** Field numbers of an entry of `Struct.fields`. */
const entry = { key: 1, value: 2 } as const;
/** Field numbers of `Value`. */
const kinds = { null: 1, number: 2, string: 3, boolean: 4, struct: 5, list: 6 } as const;

/** Remaining number of values, and the maximum nesting. Small encodings can be of very many or deeply nested values. */
export interface StructBudget {
  values: number;
  depth: number;
}

/** Returns a budget of a number of values in 32 levels. */
export function structBudget(values: number): StructBudget {
  return { values, depth: 32 };
}

/**
 * Decodes a `google.protobuf.Struct` to JSON without creating messages.
 *
 * @param into receives the members; default: a new object
 * @throws WireError if the bytes are not a message, or if the budget is exceeded
 */
export function readStruct(
  bytes: Buffer,
  from: number,
  to: number,
  budget: StructBudget,
  into: JsonObject = {},
): JsonObject {
  const members = new FieldReader(bytes, from, to);
  const member = new FieldReader(bytes, 0, 0);
  while (members.next()) {
    if (members.field !== membersField || !members.delimited) continue;
    spend(budget);
    member.reset(members.from, members.to);
    let key = "";
    let value: JsonValue = null;
    while (member.next()) {
      if (!member.delimited) continue;
      if (member.field === entry.key) key = bytes.toString("utf8", member.from, member.to);
      else if (member.field === entry.value) value = readValue(bytes, member.from, member.to, budget);
    }
    if (key === "__proto__")
      Object.defineProperty(into, key, { value, configurable: true, enumerable: true, writable: true });
    else into[key] = value;
  }
  return into;
}

function spend(budget: StructBudget): void {
  if (--budget.values < 0) throw new WireError("too-long", "metadata of too many values");
}

function readValue(bytes: Buffer, from: number, to: number, budget: StructBudget): JsonValue {
  if (--budget.depth < 0) throw new WireError("too-long", "metadata nested too deeply");
  let value: JsonValue = null;
  const reader = new FieldReader(bytes, from, to);
  while (reader.next()) {
    const { field, wireType, from: begin, to: end } = reader;
    if (field === kinds.string && wireType === 2) value = bytes.toString("utf8", begin, end);
    else if (field === kinds.number && wireType === 1) value = bytes.readDoubleLE(begin);
    else if (field === kinds.boolean && wireType === 0) value = reader.value !== 0;
    else if (field === kinds.struct && wireType === 2) value = readStruct(bytes, begin, end, budget);
    else if (field === kinds.list && wireType === 2) value = readList(bytes, begin, end, budget);
    else if (field === kinds.null && wireType === 0) value = null;
  }
  budget.depth++;
  return value;
}

function readList(bytes: Buffer, from: number, to: number, budget: StructBudget): JsonValue[] {
  const list: JsonValue[] = [];
  const reader = new FieldReader(bytes, from, to);
  while (reader.next()) {
    if (reader.field !== membersField || !reader.delimited) continue;
    spend(budget);
    list.push(readValue(bytes, reader.from, reader.to, budget));
  }
  return list;
}
