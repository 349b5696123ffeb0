import { EventEmitter } from "node:events";
import type { ServerHttp2Stream } from "node:http2";
import { encodeFrame } from "@istiod/protobuf-wire";
import { FakeClock } from "@istiod/runtime/testing";
import { LoopTimers } from "@istiod/tls-admission";
import { expect, test } from "vitest";
import { RequestMemory } from "../src/limits/request-memory.js";
import { readRequests } from "../src/transport/request-intake.js";

/** The readable side of a stream, as far as the intake uses it. */
class FakeStream extends EventEmitter {
  isPaused = false;
  readonly closed = false;

  pause(): this {
    this.isPaused = true;
    return this;
  }

  resume(): this {
    this.isPaused = false;
    return this;
  }
}

function scene() {
  const timers = new LoopTimers(new FakeClock());
  const memory = new RequestMemory({ maxBytes: 64 * 1024, timeoutMs: 60_000, timers });
  const limits = { maxRequestBytes: 1024 * 1024, firstRequestTimeoutMs: 60_000, memory, timers };
  const failures: unknown[] = [];
  const open = (): FakeStream => {
    const stream = new FakeStream();
    readRequests(stream as unknown as ServerHttp2Stream, "peer" as never, limits, {
      message: () => undefined,
      halfClosed: () => undefined,
      failed: (error) => void failures.push(error),
    });
    return stream;
  };
  return { open, failures };
}

test("a stream whose request is rejected while it asks for memory is not left paused", () => {
  const { open, failures } = scene();
  const beginning = encodeFrame(Buffer.alloc(60 * 1024)).subarray(0, 100);
  const streams = Array.from({ length: 10 }, () => {
    const stream = open();
    stream.emit("data", beginning);
    return stream;
  });
  expect(failures.length).toBeGreaterThan(0);
  // Those that wait are paused; those that failed must discard what arrives.
  expect(streams.filter(({ isPaused }) => isPaused)).toHaveLength(streams.length - 1 - failures.length);
});
