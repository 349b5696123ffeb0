import { encodeFrame } from "@istiod/protobuf-wire";
import { connect, type ClientHttp2Stream } from "node:http2";
import { setTimeout as later } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { DeltaDiscoveryRequestSchema } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { clusterType, type Listening } from "@istiod/xds-server";
import { expect, test } from "vitest";
import { FakeClock, fakeResource } from "@istiod/xds-server/testing";
import { setup } from "./harness.js";

const windowBytes = 65_535;
const sendTimeoutMs = 20_000;

/** A client that takes of a response only what it is told to. */
async function slowClient({ host, port }: Listening): Promise<{ take(bytes: number): Promise<void>; close(): void }> {
  const session = connect(`http://${host}:${port}`, { settings: { initialWindowSize: windowBytes } });
  session.on("error", () => undefined);
  const stream: ClientHttp2Stream = session.request({
    ":method": "POST",
    ":path": "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  const request = toBinary(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, { node: { id: "slow" }, typeUrl: clusterType }),
  );
  stream.write(encodeFrame(request, request.length));
  await new Promise((resolve) => stream.once("response", resolve));
  return {
    async take(bytes) {
      for (let taken = 0; taken < bytes;) {
        const piece = stream.read() as Buffer | null;
        if (piece === null) await new Promise((resolve) => stream.once("readable", resolve));
        else taken += piece.length;
      }
    },
    close: () => session.destroy(),
  };
}

test("a slow client is kept, a stalled client is disconnected", async () => {
  const clock = new FakeClock();
  const { server, target } = await setup(
    "delta",
    "http2",
    { [clusterType]: [fakeResource("large", "a".repeat(900_000))] },
    { sendTimeoutMs, clock },
  );
  const client = await slowClient(target as Listening);
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1000) {
      clock.advance(1000);
      await later(5);
    }
  };
  for (let i = 0; i < 8; i++) {
    await client.take(windowBytes);
    await later(20);
    await pass(10_000);
  }
  expect(server.connections()).toHaveLength(1);
  expect(server.connections()[0]?.outstandingBytes).toBeGreaterThan(800_000);
  await pass(sendTimeoutMs + 10_000);
  expect(server.connections()).toHaveLength(0);
  client.close();
});
