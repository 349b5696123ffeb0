import {
  ByteQueue,
  encodeFrame,
  framePrefixLength,
  FrameReader,
  readFrameLength,
  WireError,
} from "@istiod/protobuf-wire";
import fc from "fast-check";
import { expect, test } from "vitest";

const messages = fc.array(fc.uint8Array({ maxLength: 70 }), { maxLength: 8 });
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });

/** Cuts bytes into chunks of the given sizes, repeatedly. */
function chunksOf(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = lengths[i % lengths.length] ?? 1;
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

test("law: frames are read back, in whatever chunks they come", () => {
  fc.assert(
    fc.property(messages, sizes, (list, lengths) => {
      const encoded = list.map((message) => encodeFrame(message));
      const reader = new FrameReader();
      const frames = chunksOf(Buffer.concat(encoded), lengths).flatMap((chunk) => reader.push(chunk));
      expect(frames.map(({ message }) => message.toString("hex"))).toEqual(
        list.map((m) => Buffer.from(m).toString("hex")),
      );
      expect(frames.map(({ bytes }) => bytes.toString("hex"))).toEqual(encoded.map((bytes) => bytes.toString("hex")));
    }),
  );
});

test("law: arbitrary bytes are frames or a WireError", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), (chunks) => {
      const reader = new FrameReader();
      try {
        for (const chunk of chunks) reader.push(Buffer.from(chunk));
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
      }
    }),
  );
});

test("a compressed frame is an error as soon as its prefix is complete", () => {
  const reader = new FrameReader();
  expect(reader.push(Buffer.of(1, 0, 0, 0))).toEqual([]);
  expect(() => reader.push(Buffer.of(9))).toThrow(expect.objectContaining({ code: "compressed" }));
});

test("compressed frames are read where they are accepted, and other flags are errors", () => {
  const frames = [encodeFrame(Buffer.from("a"), 1, { isCompressed: true }), encodeFrame(Buffer.from("b"))];
  const read = new FrameReader(undefined, { acceptsCompressed: true }).push(Buffer.concat(frames));
  expect(read.map(({ message, isCompressed }) => [message.toString(), isCompressed])).toEqual([
    ["a", true],
    ["b", false],
  ]);
  const unknown = Buffer.of(2, 0, 0, 0, 0);
  expect(() => new FrameReader(undefined, { acceptsCompressed: true }).push(unknown)).toThrow("unknown flags 2");
  const long = encodeFrame(new Uint8Array(0), 101, { isCompressed: true });
  expect(() => new FrameReader(100, { acceptsCompressed: true }).push(long)).toThrow("larger than max");
});

test("a length over the limit is an error", () => {
  const prefix = encodeFrame(new Uint8Array(0), 101);
  expect(prefix).toHaveLength(framePrefixLength);
  expect(readFrameLength(prefix, 101)).toBe(101);
  expect(() => readFrameLength(prefix, 100)).toThrow(expect.objectContaining({ code: "too-long" }));
});

test("a frame within one chunk is not copied", () => {
  const chunk = encodeFrame(Buffer.from("message"));
  expect(new FrameReader().push(chunk)[0]?.bytes.buffer).toBe(chunk.buffer);
});

test("law: a byte queue returns the bytes that were pushed, in order", () => {
  const steps = fc.array(fc.tuple(fc.constantFrom("take", "peek", "move"), fc.nat({ max: 30 })));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), sizes, steps, (content, lengths, list) => {
      const queue = new ByteQueue();
      const all = Buffer.from(content);
      for (const chunk of chunksOf(all, lengths)) queue.push(chunk);
      let at = 0;
      for (const [step, count] of list) {
        const expected = count <= all.length - at ? all.subarray(at, at + count).toString("hex") : undefined;
        if (step === "move") {
          const target = Buffer.alloc(count);
          const moved = queue.moveTo(target, 0, count);
          expect(moved).toBe(Math.min(count, all.length - at));
          expect(target.toString("hex", 0, moved)).toBe(all.toString("hex", at, at + moved));
          at += moved;
        } else {
          expect(queue[step === "take" ? "take" : "peek"](count)?.toString("hex")).toBe(expected);
          if (step === "take" && expected !== undefined) at += count;
        }
        expect(queue.length).toBe(all.length - at);
      }
    }),
  );
});

test("rejects a message that is longer than the limit as soon as its prefix arrives", () => {
  const prefix = encodeFrame(Buffer.alloc(0), 101);
  expect(() => new FrameReader(100).push(prefix)).toThrow("gRPC message larger than max (101 vs. 100)");
  expect(new FrameReader(100).push(encodeFrame(Buffer.alloc(100)))).toHaveLength(1);
});
