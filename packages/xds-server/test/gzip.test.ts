import { randomBytes } from "node:crypto";
import { gunzipSync, inflateRawSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { complete } from "../src/sliced.js";
import { BodyCompressor } from "../src/wire/body-compressor.js";
import { deflatePart, joinParts, storePart } from "../src/wire/gzip.js";

const headerBytes = 10;

const parts = fc.array(
  fc.record({
    frame: fc.constantFrom(deflatePart, storePart),
    bytes: fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 65_530, max: 131_080 }).map((length) => Buffer.alloc(length, "configuration")),
    ),
  }),
  { maxLength: 8 },
);

test("law: joined parts are one gzip member with the bytes of all, and parts can be shared", () => {
  fc.assert(
    fc.property(parts, (list) => {
      const made = list.map(({ frame, bytes }) => frame(bytes));
      const content = Buffer.concat(list.map(({ bytes }) => bytes));
      for (const [order, expected] of [
        [made, content],
        [[...made, ...made], Buffer.concat([content, content])],
      ] as const) {
        const stream = Buffer.concat(joinParts(order));
        // Node.js verifies length and checksum.
        expect(gunzipSync(stream).equals(expected)).toBe(true);
        // It would read several members as well; raw deflate ends with the first one.
        expect(inflateRawSync(stream.subarray(headerBytes)).equals(expected)).toBe(true);
      }
    }),
    { numRuns: 50 },
  );
});

test("a body is compressed once, in slices, for all messages that share it", () => {
  const compressor = new BodyCompressor();
  const large = randomBytes(2_500_000);
  const shared = { pieces: [Buffer.from("head of a resource"), large], length: large.length + 18 };
  const slices: number[] = [];
  const first = compressor.compress(Buffer.from("one"), [shared]);
  for (let step = first.next(); ; step = first.next()) {
    if (step.done === true) {
      expect(content(step.value?.pieces).equals(Buffer.concat([Buffer.from("one"), ...shared.pieces]))).toBe(true);
      break;
    }
    slices.push(step.value);
  }
  expect(slices).toHaveLength(3);
  const second = complete(compressor.compress(Buffer.from("two"), [shared]));
  const third = complete(compressor.compress(Buffer.from("three"), [shared]));
  expect(content(second?.pieces).equals(Buffer.concat([Buffer.from("two"), ...shared.pieces]))).toBe(true);
  // All but header, head and trailer are the same objects.
  expect(second?.pieces.slice(2, -1).every((piece, i) => piece === third?.pieces[i + 2])).toBe(true);
  expect(second?.length).toBe(second?.pieces.reduce((sum, { length }) => sum + length, 0));
});

test("the event loop has a turn after each megabyte, also if it is in many bodies", () => {
  const bodies = Array.from({ length: 40 }, () => ({ pieces: [randomBytes(250_000)], length: 250_000 }));
  const compressor = new BodyCompressor();
  const slicesOf = (): number => [...compressor.compress(Buffer.from("head"), bodies)].length;
  expect(slicesOf()).toBe(9);
  expect(slicesOf()).toBe(0);
});

test("a small message is not compressed", () => {
  const body = { pieces: [Buffer.alloc(10_000)], length: 10_000 };
  expect(complete(new BodyCompressor().compress(Buffer.from("head"), [body]))).toBeUndefined();
});

function content(pieces: readonly Uint8Array[] = []): Buffer {
  return gunzipSync(Buffer.concat(pieces));
}
