import { FakeClock } from "@istiod/runtime/testing";
import { expect, test } from "vitest";
import { ResponseWriter } from "../src/connection/response-writer.js";
import type { Call } from "../src/transport/call.js";

test("a client reads the answer to an on-demand request before there is room for the next one", async () => {
  const call = {
    outstandingBytes: 0,
    method: { variant: "delta", typeUrl: undefined },
    send({ length }: { readonly length: number }) {
      this.outstandingBytes += length;
    },
  };
  const writer = new ResponseWriter(call as unknown as Call, {
    clock: new FakeClock(),
    maxOutstandingBytes: 1000,
    bodies: undefined as never,
    compressor: undefined as never,
  });
  const write = (bytes: number): number =>
    writer.writeAnswer("a", "1", { resources: [{ name: "a", typeUrl: "a", bytes: new Uint8Array(bytes) }] });
  write(500);
  await writer.untilRoom();
  write(5000);
  let hasRoom = false;
  const waiting = writer.untilRoom().then(() => (hasRoom = true));
  call.outstandingBytes = 2000;
  writer.progressed();
  await Promise.resolve();
  expect(hasRoom).toBe(false);
  call.outstandingBytes = 900;
  writer.progressed();
  await waiting;
  expect(hasRoom).toBe(true);
  write(5000);
  const closed = writer.untilRoom();
  writer.close();
  await closed;
});
