import type { ServerHttp2Stream } from "node:http2";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, test } from "vitest";
import { StreamWriter } from "../src/transport/stream-writer.js";
import { WriteSlots } from "../src/transport/write-slots.js";

const recordBytes = 16_384;

/** A stream that shows the sizes of the batches written to it, and finishes them when it is told to. */
class FakeStream {
  readonly batches: number[] = [];
  readonly destroyed = false;
  readonly session = { socket: { bytesWritten: 0 } };
  #bytes = 0;
  #done: (() => void) | undefined;

  cork(): void {
    this.#bytes = 0;
  }

  write(piece: Uint8Array, done?: () => void): void {
    this.#bytes += piece.length;
    if (done !== undefined) this.#done = done;
  }

  uncork(): void {
    this.batches.push(this.#bytes);
  }

  /** Writes the outstanding batch. */
  drain(): void {
    this.session.socket.bytesWritten += this.#bytes;
    const done = this.#done;
    this.#done = undefined;
    done?.();
  }
}

function fleet(count: number, slots: WriteSlots | undefined, clock: FakeClock) {
  return Array.from({ length: count }, () => {
    const stream = new FakeStream();
    const progress = { count: 0 };
    const writer = new StreamWriter(stream as unknown as ServerHttp2Stream, {
      clock,
      slots,
      progressed: () => progress.count++,
    });
    return { stream, writer, progress };
  });
}

const message = (bytes: number) => ({
  head: new Uint8Array(10),
  bodies: [{ pieces: [new Uint8Array(bytes - 10)], length: bytes - 10 }],
  length: bytes,
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("of many responses over TLS, those of a few connections are copied at a time, each to its end", () => {
  const clock = new FakeClock();
  const slots = new WriteSlots(2, clock);
  const clients = fleet(5, slots, clock);
  for (const { writer } of clients) writer.write(message(200_000));
  const written = (): boolean[] => clients.map(({ stream }) => stream.batches.length > 0);
  expect(written()).toEqual([true, true, false, false, false]);
  for (let i = 0; i < 3; i++) clients[0]!.stream.drain();
  expect(written()).toEqual([true, true, false, false, false]);
  clients[0]!.stream.drain();
  expect(clients[0]!.writer.idle).toBe(true);
  expect(written()).toEqual([true, true, true, false, false]);
  expect(slots.taken).toBe(2);
});

test("a batch over TLS fills whole records", () => {
  const clock = new FakeClock();
  const [client] = fleet(1, new WriteSlots(1, clock), clock);
  client!.writer.write(message(1_000_000));
  while (!client!.writer.idle) client!.stream.drain();
  // Node writes DATA frames of at most 16,384 bytes, each with 9 bytes of header.
  const records = client!.stream.batches.map((bytes) => bytes + 9 * Math.ceil(bytes / recordBytes)).slice(0, -1);
  expect(new Set(records)).toEqual(new Set([4 * recordBytes]));
});

test("in plaintext, a batch is a megabyte and needs no slot", () => {
  const clients = fleet(5, undefined, new FakeClock());
  for (const { writer } of clients) writer.write(message(3_000_000));
  expect(clients.map(({ stream }) => stream.batches)).toEqual(clients.map(() => [1024 * 1024]));
});

test("a client that does not read loses its slot to others, and holds two records", async () => {
  const clock = new FakeClock();
  const slots = new WriteSlots(1, clock);
  const [slow, next] = fleet(2, slots, clock);
  slow!.writer.write(message(300_000));
  next!.writer.write(message(300_000));
  expect(next!.stream.batches).toEqual([]);
  for (let ms = 0; ms < 1000 && next!.stream.batches.length === 0; ms += 50) {
    clock.advance(50);
    await turn();
  }
  expect(next!.stream.batches).toEqual([4 * (recordBytes - 9)]);
  slow!.stream.drain();
  expect(slow!.stream.batches.at(-1)).toBe(2 * (recordBytes - 9));
  // The slot is asked for again by the next response only.
  while (!slow!.writer.idle) slow!.stream.drain();
  while (!next!.writer.idle) next!.stream.drain();
  slow!.writer.write(message(300_000));
  expect(slow!.stream.batches.at(-1)).toBe(4 * (recordBytes - 9));
});

test("500 clients that stop reading delay an honest one by a bounded time, and hold 64 KiB each at most", async () => {
  const clock = new FakeClock();
  const slots = new WriteSlots(32, clock);
  const stalled = fleet(500, slots, clock);
  for (const { writer } of stalled) writer.write(message(8_000_000));
  const [honest] = fleet(1, slots, clock);
  honest!.writer.write(message(300_000));
  let waited = 0;
  for (; honest!.stream.batches.length === 0 && waited < 10_000; waited += 50) {
    clock.advance(50);
    await turn();
  }
  // 500 clients by 32 slots, each for the least time and the interval of checks.
  expect(waited).toBeLessThanOrEqual(16 * 150);
  expect(Math.max(...stalled.flatMap(({ stream }) => stream.batches))).toBeLessThanOrEqual(64 * 1024);
  expect(stalled.every(({ stream }) => stream.batches.length === 1)).toBe(true);
});

test("a client that waits for a slot is not taken for one that does not read", () => {
  const clock = new FakeClock();
  const [, waiting] = fleet(2, new WriteSlots(0, clock), clock).map((client) => {
    client.writer.write(message(300_000));
    return client;
  });
  clock.advance(5000);
  clock.advance(5000);
  expect(waiting!.progress.count).toBe(2);
  expect(waiting!.stream.batches).toEqual([]);
});

test("a stream that is closed gives its slot, or its place among those that wait, to the next one", () => {
  const clock = new FakeClock();
  const slots = new WriteSlots(1, clock);
  const [first, second, third] = fleet(3, slots, clock);
  for (const { writer } of [first!, second!, third!]) writer.write(message(300_000));
  second!.writer.close();
  first!.writer.close();
  expect([first, second, third].map((client) => client!.stream.batches.length)).toEqual([1, 0, 1]);
  third!.writer.close();
  expect(slots.taken).toBe(0);
});

test("a small response needs no slot", () => {
  const clock = new FakeClock();
  const slots = new WriteSlots(0, clock);
  const [client] = fleet(1, slots, clock);
  client!.writer.write(message(20_000));
  expect(client!.stream.batches).toEqual([20_005]);
});
