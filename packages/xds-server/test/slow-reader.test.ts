import { encodeFrame } from "@istiod/protobuf-wire";
import { connect, type ClientHttp2Stream } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { DeltaDiscoveryRequestSchema } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { clusterType, type Listening } from "@istiod/xds-server";
import { expect, test } from "vitest";
import { FakeClock } from "@istiod/runtime/testing";
import { fakeResource, idle } from "@istiod/xds-server/testing";
import { setup } from "./harness.js";

const windowBytes = 65_535;
const sendTimeoutMs = 20_000;

interface SlowClient {
  /** Reads this many bytes of the response. */
  read(bytes: number): Promise<void>;
  /** Resolves once the server has written more than was read. */
  nextWritten(): Promise<void>;
  close(): void;
}

/** Connects a client that reads only the bytes of a response that a test asks it to read. */
async function slowClient({ host, port }: Listening): Promise<SlowClient> {
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
    async read(bytes) {
      for (let read = 0; read < bytes;) {
        const available = Math.min(bytes - read, stream.readableLength);
        const piece = stream.read(available === 0 ? undefined : available) as Buffer | null;
        if (piece === null) await new Promise((resolve) => stream.once("readable", resolve));
        else read += piece.length;
      }
    },
    async nextWritten() {
      await expect.poll(() => stream.readableLength, { timeout: 10_000, interval: 2 }).toBeGreaterThan(0);
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
      await idle();
    }
  };
  for (let i = 0; i < 8; i++) {
    await client.read(windowBytes);
    await client.nextWritten();
    await pass(sendTimeoutMs / 2);
  }
  expect(server.connections()).toHaveLength(1);
  expect(server.connections()[0]?.outstandingBytes).toBeGreaterThan(800_000);
  await pass(sendTimeoutMs + 10_000);
  await expect.poll(() => server.connections(), { timeout: 5000 }).toEqual([]);
  client.close();
});
