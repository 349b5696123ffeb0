import { expect, test } from "vitest";
import { prefixed, readMessages } from "../src/transport/grpc-messages.js";
import { LongMessages } from "../src/transport/long-messages.js";
import { FakeClock, idle } from "./fake-clock.js";

const atOnce = 16;
const kibibyte = 1024;

function filled(length: number, byte: number): Buffer {
  return Buffer.alloc(length, byte);
}

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test.each([1000, 64 * kibibyte, 1000 * kibibyte])("long messages come out as they went in, cut into pieces of %i bytes", async (size) => {
  const messages = [filled(200 * kibibyte, 1), filled(3, 2), filled(64 * kibibyte, 3), filled(64 * kibibyte - 1, 4), filled(0, 5), filled(700 * kibibyte, 6)];
  const body = Buffer.concat(messages.map((message) => prefixed(message, message.length)));
  const read: Buffer[] = [];
  for await (const message of readMessages(pieces(body, size), kibibyte * kibibyte, new LongMessages(new FakeClock()))) read.push(Buffer.from(message));
  expect(read.length).toBe(messages.length);
  for (const [i, message] of messages.entries()) expect(read[i]?.equals(message)).toBe(true);
});

test("a message that is cut off gives its buffer back", async () => {
  const buffers = new LongMessages(new FakeClock());
  const cut = prefixed(filled(100 * kibibyte, 1), 200 * kibibyte);
  for (let i = 0; i < atOnce + 1; i++) {
    const read = async (): Promise<void> => {
      for await (const message of readMessages(pieces(cut, kibibyte), kibibyte * kibibyte, buffers)) void message;
    };
    await expect(read()).rejects.toMatchObject({ code: 3 });
  }
});

test("so many are put together at a time, the next when one is done, in the order in which they came", async () => {
  const buffers = new LongMessages(new FakeClock());
  const taken: Buffer[] = [];
  for (let i = 0; i < atOnce; i++) taken.push(await buffers.take(100 * kibibyte));
  const got: number[] = [];
  for (const i of [1, 2]) void buffers.take(i).then(() => got.push(i));
  await idle();
  expect(got).toEqual([]);
  buffers.give(taken[0] as Buffer);
  await idle();
  expect(got).toEqual([1]);
  buffers.give(taken[1] as Buffer);
  await idle();
  expect(got).toEqual([1, 2]);
});

test("who stops in the middle of a message does not hold up others for ever", async () => {
  const clock = new FakeClock();
  const buffers = new LongMessages(clock);
  for (let i = 0; i < atOnce; i++) await buffers.take(1);
  let got = false;
  void buffers.take(1).then(() => (got = true));
  clock.advance(4999);
  await idle();
  expect(got).toBe(false);
  clock.advance(1);
  await idle();
  expect(got).toBe(true);
});

test("a buffer that was given back is used again", async () => {
  const buffers = new LongMessages(new FakeClock());
  const first = await buffers.take(300 * kibibyte);
  buffers.give(first);
  expect(await buffers.take(200 * kibibyte)).toBe(first);
});
