import {
  delimitedFieldSize,
  encodeMessageField,
  encodeStringField,
  encodeVarintField,
  FieldReader,
  joinEncoded,
  readStringField,
  skipValue,
  tagOf,
  WireError,
  wireTypes,
  writeDelimitedHeader,
  writeString,
} from "@istiod/protobuf-wire";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";

const fieldNumber = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2 ** 29 - 1 }));
const text = fc.string({ unit: "binary", minLength: 1, maxLength: 200 }).filter((s) => Buffer.from(s).toString() === s);

const fixed = (wireType: "fixed32" | "fixed64") =>
  fc.tuple(fc.integer({ min: 1, max: 15 }), fc.constant(wireType)).map(([field, type]) => ({
    field,
    wireType: wireTypes[type],
    bytes: Buffer.concat([Buffer.of(tagOf(field, type)), Buffer.alloc(type === "fixed32" ? 4 : 8, 0xff)]),
    value: undefined,
  }));
/** An encoded field with its expected content. */
const encodedField = fc.oneof(
  fc.tuple(fieldNumber, text).map(([field, value]) => ({
    field,
    wireType: wireTypes.delimited,
    bytes: Buffer.from(encodeStringField(field, value)),
    value,
  })),
  fc.tuple(fieldNumber, fc.integer({ min: 1, max: 0xffff_ffff })).map(([field, value]) => ({
    field,
    wireType: wireTypes.varint,
    bytes: Buffer.from(encodeVarintField(field, value)),
    value,
  })),
  fixed("fixed32"),
  fixed("fixed64"),
);

/** The fields of a message with numbers, wire types and values. */
function fieldsOf(message: Buffer): object[] {
  const fields: object[] = [];
  const reader = new FieldReader(message);
  while (reader.next()) {
    const { field, wireType, delimited, from, to } = reader;
    const value = delimited
      ? message.toString("utf8", from, to)
      : wireType === wireTypes.varint
        ? reader.value
        : undefined;
    fields.push({ field, wireType, value });
  }
  return fields;
}

test("law: written fields are read back in order, also from a range of other bytes", () => {
  fc.assert(
    fc.property(fc.array(encodedField), fc.uint8Array({ maxLength: 5 }), (fields, before) => {
      const message = Buffer.from(joinEncoded(fields.map(({ bytes }) => bytes)));
      expect(fieldsOf(message)).toEqual(fields.map(({ field, wireType, value }) => ({ field, wireType, value })));
      const reader = new FieldReader(
        Buffer.concat([before, message, before]),
        before.length,
        before.length + message.length,
      );
      const starts: number[] = [];
      while (reader.next()) starts.push(reader.start - before.length, reader.to - before.length);
      const ends = fields.map((_, i) => fields.slice(0, i + 1).reduce((sum, { bytes }) => sum + bytes.length, 0));
      expect(starts).toEqual(ends.flatMap((end, i) => [end - (fields[i]?.bytes.length ?? 0), end]));
    }),
  );
});

test("law: skipping values leads to the same fields", () => {
  fc.assert(
    fc.property(fc.array(encodedField), (fields) => {
      const message = Buffer.concat(fields.map(({ bytes }) => bytes));
      const reader = new FieldReader(message);
      while (reader.next()) {
        const afterTag = reader.wireType === wireTypes.delimited ? undefined : reader.from;
        if (afterTag !== undefined) expect(skipValue(message, reader.wireType, afterTag)).toBe(reader.to);
      }
    }),
  );
});

test("law: a message field contains its joined parts", () => {
  fc.assert(
    fc.property(fieldNumber, fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 4 }), (field, parts) => {
      const encoded = encodeMessageField(field, parts);
      const reader = new FieldReader(encoded);
      expect([reader.next(), reader.field, reader.delimited]).toEqual([true, field, true]);
      expect(Buffer.from(encoded.subarray(reader.from, reader.to))).toEqual(Buffer.concat(parts));
      expect(reader.next()).toBe(false);
    }),
  );
});

test("law: a string written in place has the announced size and is read back; the last one counts", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 15 }), text, text, (field, first, second) => {
      const [a, b] = [Buffer.byteLength(first), Buffer.byteLength(second)];
      const bytes = Buffer.alloc(delimitedFieldSize(a) + delimitedFieldSize(b));
      const end = writeString(bytes, writeString(bytes, 0, field, first, a), field, second, b);
      expect(end).toBe(bytes.length);
      expect(readStringField(bytes, field)).toBe(second);
      expect(readStringField(bytes, field + 1)).toBe("");
    }),
  );
});

test("law: arbitrary bytes are a message or a WireError", () => {
  const read = (bytes: Uint8Array): void => {
    try {
      fieldsOf(Buffer.from(bytes));
      readStringField(Buffer.from(bytes), 1);
    } catch (error) {
      expect(error).toBeInstanceOf(WireError);
    }
    for (let wireType = 0; wireType < 8; wireType++) {
      try {
        expect(skipValue(bytes, wireType, 0)).toBeLessThanOrEqual(bytes.length);
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
      }
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), read), { numRuns: 2000 });
});

describe("a message with", () => {
  it.each([
    ["a group", [(1 << 3) | 3], "invalid-wire-type"],
    ["a truncated tag", [0x80], "truncated"],
    ["a truncated string", [(1 << 3) | 2, 3, 65], "truncated"],
    ["a truncated fixed32", [(1 << 3) | 5, 0, 0, 0], "truncated"],
    ["a truncated fixed64", [(1 << 3) | 1, 0, 0, 0, 0], "truncated"],
    ["an endless varint", [1 << 3, ...Array<number>(11).fill(0xff)], "invalid-varint"],
  ])("%s is an error", (_name, bytes, code) => {
    expect(() => fieldsOf(Buffer.from(bytes))).toThrow(expect.objectContaining({ code }));
  });
});

test("default values are not encoded", () => {
  expect(encodeStringField(1, "")).toHaveLength(0);
  expect(encodeVarintField(1, 0)).toHaveLength(0);
});

test("a header is a tag and a length", () => {
  const bytes = Buffer.alloc(3);
  expect(writeDelimitedHeader(bytes, 0, 15, 300)).toBe(3);
  expect([...bytes]).toEqual([0x7a, 0xac, 0x02]);
});
