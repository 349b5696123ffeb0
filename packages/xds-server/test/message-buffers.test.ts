import { encodeFrame } from "@istiod/protobuf-wire";
import { expect, test } from "vitest";
import { MessageReader } from "../src/transport/message-reader.js";
import { MessageBuffers } from "../src/transport/message-buffers.js";
import { FakeClock } from "@istiod/settings/testing";
import { idle } from "@istiod/xds-server/testing";
import { readMessages } from "./read-messages.js";

const maxInUse = 16;
const kibibyte = 1024;

function filled(length: number, byte: number): Buffer {
  return Buffer.alloc(length, byte);
}

function* pieces(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test.each([1000, 64 * kibibyte, 1000 * kibibyte])(
  "long messages come out as they went in, cut into pieces of %i bytes",
  async (size) => {
    const messages = [
      filled(200 * kibibyte, 1),
      filled(3, 2),
      filled(64 * kibibyte, 3),
      filled(64 * kibibyte - 1, 4),
      filled(0, 5),
      filled(700 * kibibyte, 6),
    ];
    const body = Buffer.concat(messages.map((message) => encodeFrame(message)));
    const read = await readMessages(pieces(body, size), kibibyte * kibibyte, new MessageBuffers(new FakeClock()));
    expect(read.length).toBe(messages.length);
    for (const [i, message] of messages.entries()) expect(read[i]?.equals(message)).toBe(true);
  },
);

test("a truncated message releases its buffer", async () => {
  const buffers = new MessageBuffers(new FakeClock());
  const cut = encodeFrame(filled(100 * kibibyte, 1), 200 * kibibyte);
  for (let i = 0; i < maxInUse + 1; i++) {
    await expect(readMessages(pieces(cut, kibibyte), kibibyte * kibibyte, buffers)).rejects.toMatchObject({ code: 3 });
  }
});

test("a message is valid until its handler is done, even if the call is aborted, and the next message waits", async () => {
  const buffers = new MessageBuffers(new FakeClock());
  const taken: Buffer[] = [];
  let done: () => void = () => undefined;
  const message = (each: Buffer): Promise<void> => {
    taken.push(each);
    return new Promise((resolve) => (done = resolve));
  };
  const reader = new MessageReader({ maxBytes: kibibyte * kibibyte, buffers, message });
  const first = filled(200 * kibibyte, 1);
  const body = Buffer.concat([encodeFrame(first, first.length), encodeFrame(filled(9, 2), 9)]);
  const busy = reader.push(body);
  reader.close();
  const other = await buffers.acquire(200 * kibibyte);
  other.fill(7);
  expect(taken.length).toBe(1);
  expect(taken[0]?.equals(first)).toBe(true);
  done();
  await busy;
  expect(taken.length).toBe(1);
  expect((await buffers.acquire(200 * kibibyte)).buffer).toBe(taken[0]?.buffer);
});

test("the number of buffers in use is limited; waiting messages proceed in order", async () => {
  const buffers = new MessageBuffers(new FakeClock());
  const taken: Buffer[] = [];
  for (let i = 0; i < maxInUse; i++) taken.push(await buffers.acquire(100 * kibibyte));
  const got: number[] = [];
  for (const i of [1, 2]) void Promise.resolve(buffers.acquire(i)).then(() => got.push(i));
  await idle();
  expect(got).toEqual([]);
  buffers.release(taken[0] as Buffer);
  await idle();
  expect(got).toEqual([1]);
  buffers.release(taken[1] as Buffer);
  await idle();
  expect(got).toEqual([1, 2]);
});

test("a client that stops within a message does not block others forever", async () => {
  const clock = new FakeClock();
  const buffers = new MessageBuffers(clock);
  for (let i = 0; i < maxInUse; i++) await buffers.acquire(1);
  let got = false;
  void Promise.resolve(buffers.acquire(1)).then(() => (got = true));
  clock.advance(4999);
  await idle();
  expect(got).toBe(false);
  clock.advance(1);
  await idle();
  expect(got).toBe(true);
});

test("a released buffer is reused", async () => {
  const buffers = new MessageBuffers(new FakeClock());
  const first = await buffers.acquire(300 * kibibyte);
  buffers.release(first);
  expect(await buffers.acquire(200 * kibibyte)).toBe(first);
});
