import type { ConnectError } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";
import { encodeFrame } from "@istiod/protobuf-wire";
import { FakeClock } from "@istiod/runtime/testing";
import { LoopTimers } from "@istiod/tls-admission";
import { idle } from "@istiod/xds-server/testing";
import { expect, test } from "vitest";
import { RequestMemory, type UnfinishedRequest } from "../src/limits/request-memory.js";
import { MessageReader } from "../src/transport/message-reader.js";
import { ampleMemory, readMessages } from "./read-messages.js";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

function filled(length: number, byte: number): Buffer {
  return Buffer.alloc(length, byte);
}

function* pieces(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Memory of 4 MiB, its clock, and the outcome of requests: "granted", or the reason of failure. */
function scene(maxBytes = 4 * mebibyte, timeoutMs = 60_000) {
  const clock = new FakeClock();
  const memory = new RequestMemory({ maxBytes, timeoutMs, timers: new LoopTimers(clock) });
  const request = (peer: string, length: number) => {
    const outcome: string[] = [];
    const unfinished: UnfinishedRequest = memory.begin(peer, (error: ConnectError, reason) =>
      outcome.push(`${Code[error.code]} ${reason}`),
    );
    const buffer = unfinished.reserve(length);
    if (buffer instanceof Promise) void buffer.then(() => outcome.push("granted"));
    else outcome.push("granted");
    return { unfinished, outcome };
  };
  return { clock, memory, request };
}

test.each([1, 1000, 64 * kibibyte, 1000 * kibibyte])(
  "messages come out as they went in, cut into pieces of %i bytes",
  async (size) => {
    const messages = [
      filled(200 * kibibyte, 1),
      filled(3, 2),
      filled(64 * kibibyte, 3),
      filled(64 * kibibyte - 1, 4),
      filled(0, 5),
      filled(70 * kibibyte, 6),
    ];
    const body = Buffer.concat(messages.map((message) => encodeFrame(message)));
    const memory = ampleMemory();
    const read = await readMessages(pieces(body, size), mebibyte, memory);
    expect(read.length).toBe(messages.length);
    for (const [i, message] of messages.entries()) expect(read[i]?.equals(message)).toBe(true);
    expect(memory.bytes).toBe(0);
  },
);

test("a message that arrives in one piece uses no memory", async () => {
  const memory = ampleMemory();
  const used: number[] = [];
  await readMessages([encodeFrame(filled(1000, 1))], mebibyte, memory, () => void used.push(memory.bytes));
  expect(used).toEqual([0]);
});

test("a truncated message releases its memory", async () => {
  const memory = ampleMemory();
  const cut = encodeFrame(filled(100 * kibibyte, 1), 200 * kibibyte);
  await expect(readMessages(pieces(cut, kibibyte), mebibyte, memory)).rejects.toMatchObject({
    code: Code.InvalidArgument,
  });
  expect(memory.bytes).toBe(0);
});

test("a message is valid until its handler is done, even if the call is aborted, and the next message waits", async () => {
  const { memory } = scene();
  const taken: Buffer[] = [];
  let done: () => void = () => undefined;
  const reader = new MessageReader({
    maxBytes: mebibyte,
    begin: () => memory.begin("10.0.0.1", () => undefined),
    message: (message) => (taken.push(message), new Promise((resolve) => (done = resolve))),
  });
  const first = filled(200 * kibibyte, 1);
  const body = Buffer.concat([encodeFrame(first), encodeFrame(filled(9, 2))]);
  expect(reader.push(body.subarray(0, 1000))).toBeUndefined();
  const busy = reader.push(body.subarray(1000));
  reader.close();
  expect(memory.bytes).toBe(256 * kibibyte);
  expect(taken.map((each) => each.equals(first))).toEqual([true]);
  done();
  await busy;
  expect(taken.length).toBe(1);
  expect(memory.bytes).toBe(0);
});

test("unfinished requests never hold more than the maximum, and a peer never more than half", async () => {
  const { memory, request } = scene();
  const attacker = Array.from({ length: 120 }, () => request("10.0.0.66", mebibyte));
  expect(memory.bytes).toBe(2 * mebibyte);
  const honest = request("10.0.0.1", mebibyte);
  await idle();
  expect(honest.outcome).toEqual(["granted"]);
  expect(memory.bytes).toBe(3 * mebibyte);
  for (const { unfinished } of attacker) unfinished.release();
  honest.unfinished.release();
  await idle();
  expect(memory.bytes).toBe(0);
});

test("waiting requests are served in turn, one peer after the other", async () => {
  const { request } = scene();
  const holders = ["a", "b", "c", "d"].map((peer) => request(peer, mebibyte));
  const flood = Array.from({ length: 20 }, () => request("flood", mebibyte));
  const late = request("late", mebibyte);
  holders[0]?.unfinished.release();
  holders[1]?.unfinished.release();
  await idle();
  expect(flood.filter(({ outcome }) => outcome.length > 0)).toHaveLength(1);
  expect(late.outcome).toEqual(["granted"]);
});

test("a fleet behind one address that reconnects at once is served completely", async () => {
  const { memory, request } = scene();
  const fleet = Array.from({ length: 100 }, () => request("nat", mebibyte));
  let rounds = 0;
  for (; fleet.some(({ outcome }) => outcome.length === 0); rounds++) {
    expect(memory.bytes).toBeLessThanOrEqual(2 * mebibyte);
    for (const { outcome, unfinished } of fleet) if (outcome.length > 0) unfinished.release();
    await idle();
  }
  expect(rounds).toBe(49);
  expect(new Set(fleet.flatMap(({ outcome }) => outcome))).toEqual(new Set(["granted"]));
});

test("too many waiting requests reject the newest of the peer that has the most", () => {
  const { memory, request } = scene();
  for (const peer of ["a", "b", "c", "d"]) request(peer, mebibyte);
  const honest = request("honest", mebibyte);
  const flood = Array.from({ length: 200 }, () => request("flood", mebibyte));
  // 8 MiB of windows of 64 KiB.
  expect(memory.waiting).toBe(128);
  expect(honest.outcome).toEqual([]);
  expect(flood.at(-1)?.outcome).toEqual(["ResourceExhausted request_memory"]);
  expect(flood[0]?.outcome).toEqual([]);
});

test("a request that does not progress loses its memory once another waits", async () => {
  const { clock, request } = scene();
  const stalled = ["a", "b", "c"].map((peer) => request(peer, mebibyte));
  const busy = request("d", mebibyte);
  clock.advance(10_000);
  expect(stalled.flatMap(({ outcome }) => outcome)).toEqual(["granted", "granted", "granted"]);
  const waiting = request("e", mebibyte);
  for (let second = 1; second <= 6; second++) {
    busy.unfinished.filled = second * 100 * kibibyte;
    clock.advance(1000);
  }
  await idle();
  expect(waiting.outcome).toEqual(["granted"]);
  expect(stalled[0]?.outcome).toEqual(["granted", "DeadlineExceeded request_timeout"]);
  expect(busy.outcome).toEqual(["granted"]);
});

test("a request must be complete in time", () => {
  const { clock, memory, request } = scene(4 * mebibyte, 30_000);
  const { outcome } = request("a", mebibyte);
  clock.advance(30_000);
  expect(outcome).toEqual(["granted"]);
  clock.advance(1000);
  expect(outcome).toEqual(["granted", "DeadlineExceeded request_timeout"]);
  expect(memory.bytes).toBe(0);
});

test("a request of which only a part of the prefix arrives has the same time", () => {
  const { clock, memory } = scene(4 * mebibyte, 30_000);
  const failures: string[] = [];
  const reader = new MessageReader({
    maxBytes: mebibyte,
    begin: () => memory.begin("a", (_, reason) => failures.push(reason)),
    message: () => undefined,
  });
  void reader.push(Buffer.from([0]));
  clock.advance(31_000);
  expect(failures).toEqual(["request_timeout"]);
});

test("a blocked event loop does not use up the time of requests", () => {
  let tick: () => void = () => undefined;
  const timers = new LoopTimers({ now: () => 0, after: (_, callback) => ((tick = callback), () => undefined) });
  let fired = false;
  timers.after(3000, () => (fired = true));
  // However late a tick is, it counts for one second.
  for (let i = 0; i < 3; i++) tick();
  expect(fired).toBe(false);
  tick();
  expect(fired).toBe(true);
});
