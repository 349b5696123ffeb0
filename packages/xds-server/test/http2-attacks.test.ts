import { clusterType, serve, staticSource } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { expect, test } from "vitest";
import { callHeaders, connectHttp2, endHeaders, frame, frameType, openStream } from "./raw-http2.js";

const empty = Buffer.alloc(0);
const repeat = (count: number, of: (i: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, i) => of(i)));

/** A header of 16 KiB that is repeated: `x: aaa…`, literal and never indexed. */
const longHeader = Buffer.concat([
  Buffer.from([0x10, 1]),
  Buffer.from("x"),
  Buffer.from([0x7f, 0x81, 0x7f]),
  Buffer.alloc(127 + 0x01 + 0x7f * 128, "a"),
]);

test.each([
  ["pings", repeat(20_000, () => frame(frameType.ping, 0, 0, Buffer.alloc(8)))],
  ["SETTINGS", repeat(20_000, () => frame(frameType.settings, 0, 0, empty))],
  [
    "streams that are reset at once",
    repeat(20_000, (i) =>
      Buffer.concat([openStream(2 * i + 1), frame(frameType.rstStream, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8]))]),
    ),
  ],
  [
    "CONTINUATION frames without end",
    Buffer.concat([
      frame(frameType.headers, 0, 1, callHeaders()),
      repeat(20_000, () => frame(frameType.continuation, 0, 1, empty)),
    ]),
  ],
  [
    "headers over the maximum size",
    Buffer.concat([
      frame(frameType.headers, 0, 1, callHeaders()),
      repeat(40, () => frame(frameType.continuation, 0, 1, longHeader.subarray(0, 16_384))),
      frame(frameType.continuation, endHeaders, 1, empty),
    ]),
  ],
  ["frames of a stream that does not exist", repeat(20_000, () => frame(frameType.data, 0, 77, Buffer.alloc(8)))],
  ["a frame over the maximum size", frame(frameType.data, 0, 1, Buffer.alloc(70_000))],
])("a connection with %s is closed, and another one is served", async (_, attack) => {
  const server = await serve(staticSource({ [clusterType]: [] }), {
    port: 0,
    firstRequestTimeoutMs: 1000,
  });
  const attacker = await connectHttp2(server);
  try {
    // Nothing is read, so that answers stay in the server.
    attacker.socket.pause();
    attacker.socket.write(attack);
    const honest = new XdsClient(server, { variant: "delta" });
    honest.subscribe(clusterType);
    await honest.accept(clusterType);
    honest.close();
    attacker.socket.resume();
    // GOAWAY comes at once; what is left of the connection is closed as one without streams.
    await expect.poll(() => attacker.received.includes(frameType.goAway) || attacker.isClosed).toBe(true);
    await expect.poll(() => attacker.isClosed, { timeout: 10_000 }).toBe(true);
    await expect.poll(() => server.connections()).toEqual([]);
  } finally {
    attacker.socket.destroy();
    await server.close({ graceMs: 0 });
  }
});
