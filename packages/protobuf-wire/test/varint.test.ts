import { readVarint, varintEnd, varintSize, WireError, writeVarint } from "@istiod/protobuf-wire";
import fc from "fast-check";
import { expect, test } from "vitest";

const uint32 = fc.oneof(fc.nat({ max: 0xffff_ffff }), fc.constantFrom(0, 0x7f, 0x80, 0x3fff, 0x4000, 0xffff_ffff));

test("law: a written varint has the announced size and is read back", () => {
  fc.assert(
    fc.property(uint32, fc.nat({ max: 8 }), (value, offset) => {
      const bytes = new Uint8Array(offset + 5);
      const end = writeVarint(bytes, offset, value);
      expect(end - offset).toBe(varintSize(value));
      expect(readVarint(bytes, offset, end)).toBe(value);
      expect(varintEnd).toBe(end);
    }),
  );
});

test("a 64-bit varint is read exactly up to 2^53", () => {
  const bytes = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f);
  expect(readVarint(bytes, 0, bytes.length)).toBe(Number.MAX_SAFE_INTEGER);
});

test.each([
  ["empty", [], "truncated"],
  ["cut off", [0x80, 0x80], "truncated"],
  ["10 bytes without an end, and no more", Array<number>(10).fill(0x80), "truncated"],
  ["longer than 10 bytes", [...Array<number>(10).fill(0x80), 0], "invalid-varint"],
])("a varint that is %s is an error", (_name, bytes, code) => {
  expect(() => readVarint(Uint8Array.from(bytes), 0, bytes.length)).toThrow(expect.objectContaining({ code }));
});

test("a varint of 10 bytes is accepted", () => {
  readVarint(Uint8Array.from([...Array<number>(9).fill(0xff), 1]), 0, 10);
  expect(varintEnd).toBe(10);
});

test("law: arbitrary bytes are a varint or a WireError", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 14 }), (bytes) => {
      try {
        expect(readVarint(bytes, 0, bytes.length)).toBeGreaterThanOrEqual(0);
        expect(varintEnd).toBeLessThanOrEqual(bytes.length);
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
      }
    }),
  );
});
