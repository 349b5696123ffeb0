import { Code } from "@connectrpc/connect";
import { encodeFrame } from "@istiod/protobuf-wire";
import { FakeClock } from "@istiod/runtime/testing";
import { ClientStatusDiscoveryService } from "@istiod/envoy-api/envoy/service/status/v3/csds";
import {
  clusterType,
  createXdsServer,
  type Listening,
  type ListenOptions,
  staticSource,
  type XdsEvent,
  type XdsServerOptions,
} from "@istiod/xds-server";
import { idle, openChannel, XdsClient } from "@istiod/xds-server/testing";
import { afterEach, expect, it } from "vitest";
import { connectHttp2, connectRaw, frame, frameType, openStream, type RawConnection } from "./raw-http2.js";
import { hasOpenssl, NO_OPENSSL, selfSigned } from "./self-signed.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const mebibyte = 1024 * 1024;

async function setup(options: XdsServerOptions = {}, listen: Partial<ListenOptions> = {}) {
  const events: XdsEvent[] = [];
  const clock = new FakeClock();
  const server = createXdsServer(staticSource({ [clusterType]: [] }), {
    clock,
    observe: (event) => events.push(event),
    ...options,
  });
  const address = await server.listen({ port: 0, ...listen });
  ends.push(async () => {
    const closed = server.close({ graceMs: 0 });
    await idle();
    clock.advance(2000);
    await closed;
  });
  const limited = (): string[] => events.flatMap((event) => (event.kind === "limit" ? [event.reason] : []));
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1000) {
      clock.advance(1000);
      await idle();
    }
  };
  return { server, address, clock, limited, advance };
}

/** Connections that are closed after the test. */
async function opened(connection: Promise<RawConnection>): Promise<RawConnection> {
  const open = await connection;
  ends.push(() => open.socket.destroy());
  return open;
}

/** Asserts that an honest client is served. */
async function expectServed(address: Listening): Promise<void> {
  const client = new XdsClient(address, { variant: "delta" });
  client.subscribe(clusterType);
  await client.accept(clusterType);
  client.close();
}

/** Waits until the server has read the SETTINGS of a connection: it acknowledges them. */
async function established({ received }: RawConnection): Promise<void> {
  await expect.poll(() => received.filter((type) => type === frameType.settings).length).toBe(2);
}

it("a connection without HTTP/2 preface is closed", async () => {
  const { address, limited, advance } = await setup();
  const silent = await opened(connectRaw(address));
  await expectServed(address);
  await advance(9000);
  expect(silent.isClosed).toBe(false);
  await advance(2000);
  await expect.poll(() => silent.isClosed).toBe(true);
  expect(limited()).toEqual(["handshake_timeout"]);
});

it("a TLS handshake that is not completed is closed", async ({ skip }) => {
  skip(!hasOpenssl, NO_OPENSSL);
  const tls = selfSigned();
  const { address, limited, advance } = await setup({}, { tls });
  const silent = await opened(connectRaw(address));
  const begun = await opened(connectRaw(address));
  begun.socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1]));
  // Accepted before the next connection is.
  const client = new XdsClient(
    { host: "localhost", port: address.port, tls: { ca: tls.cert, servername: "localhost" } },
    { variant: "delta" },
  );
  client.subscribe(clusterType);
  await client.accept(clusterType);
  client.close();
  await advance(11_000);
  await expect.poll(() => [silent.isClosed, begun.isClosed]).toEqual([true, true]);
  expect(limited()).toEqual(["handshake_timeout", "handshake_timeout"]);
});

it("a connection without streams is closed", async () => {
  const { address, limited, advance } = await setup();
  const idleConnection = await opened(connectHttp2(address));
  await established(idleConnection);
  await advance(14_000);
  expect(idleConnection.isClosed).toBe(false);
  await advance(4000);
  await expect.poll(() => idleConnection.isClosed).toBe(true);
  expect(idleConnection.received).toContain(frameType.goAway);
  expect(limited()).toEqual(["idle_timeout"]);
});

it("500 streams that send nothing are ended, and an honest client is served meanwhile", async () => {
  const { address, limited, advance } = await setup();
  const connections = await Promise.all(Array.from({ length: 5 }, () => opened(connectHttp2(address))));
  for (const { socket } of connections)
    socket.write(Buffer.concat(Array.from({ length: 100 }, (_, i) => openStream(2 * i + 1))));
  await Promise.all(connections.map(established));
  await expectServed(address);
  await advance(17_000);
  await expect.poll(() => limited().length).toBe(500);
  expect(new Set(limited())).toEqual(new Set(["first_request_timeout"]));
});

it("more streams than an unauthenticated connection may have are refused", async () => {
  const { address, advance, limited } = await setup({}, { maxUnauthenticatedStreams: 10 });
  const connection = await opened(connectHttp2(address));
  connection.socket.write(Buffer.concat(Array.from({ length: 50 }, (_, i) => openStream(2 * i + 1))));
  await expect.poll(() => connection.received.filter((type) => type === frameType.rstStream).length).toBe(40);
  await advance(17_000);
  expect(limited()).toHaveLength(10);
});

it("120 unfinished requests of 4 MiB hold no more than half of the memory, and end", async () => {
  const { address, limited, advance } = await setup(
    { unfinishedRequestBytes: 16 * mebibyte, requestTimeoutMs: 30_000 },
    { keepAlive: { intervalMs: 600_000, timeoutMs: 10_000 } },
  );
  const part = encodeFrame(Buffer.alloc(60_000), 4 * mebibyte);
  for (let i = 0; i < 120; i++) {
    const connection = await opened(connectHttp2(address));
    connection.socket.write(openStream(1));
    for (let at = 0; at < part.length; at += 16_000)
      connection.socket.write(frame(frameType.data, 0, 1, part.subarray(at, at + 16_000)));
  }
  await expectServed(address);
  await advance(66_000);
  // Those that hold memory make no progress, and those that wait get none in time.
  const requests = (): string[] => limited().filter((reason) => reason !== "idle_timeout");
  await expect.poll(() => requests().length).toBe(120);
  expect(new Set(requests())).toEqual(new Set(["request_timeout", "request_memory"]));
  await expectServed(address);
});

it("an address has a maximum number of connections", async () => {
  const { address, limited } = await setup({ connectionLimits: { perAddress: 3 } });
  const connections: RawConnection[] = [];
  for (let i = 0; i < 5; i++) connections.push(await opened(connectRaw(address)));
  await expect.poll(() => connections.map(({ isClosed }) => isClosed)).toEqual([false, false, false, true, true]);
  expect(limited()).toEqual(["connections_per_peer", "connections_per_peer"]);
});

it("a full server closes a connection of the address with the most for another address", async ({ skip }) => {
  if (process.platform !== "linux") return skip("only Linux has all of 127.0.0.0/8");
  const { address, limited } = await setup({ connectionLimits: { unauthenticated: 4 } });
  const flood: RawConnection[] = [];
  for (let i = 0; i < 4; i++) flood.push(await opened(connectRaw(address, "127.0.0.66")));
  const rejected = await opened(connectRaw(address, "127.0.0.66"));
  await expect.poll(() => rejected.isClosed).toBe(true);
  await expectServed(address);
  await expect.poll(() => flood.map(({ isClosed }) => isClosed)).toEqual([true, false, false, false]);
  expect(limited()).toEqual(["connections", "connections"]);
});

it("streams are admitted fairly: a peer that opens many delays itself", async ({ skip }) => {
  if (process.platform !== "linux") return skip("only Linux has all of 127.0.0.0/8");
  const { address, clock, limited } = await setup({ streamsPerSecond: 10 });
  const flood = await opened(connectHttp2(address, "127.0.0.66"));
  flood.socket.write(Buffer.concat(Array.from({ length: 100 }, (_, i) => openStream(2 * i + 1))));
  await expect.poll(() => limited().length).toBe(89);
  const honest = new XdsClient(address, { variant: "delta" });
  ends.push(() => honest.close());
  honest.subscribe(clusterType);
  await expect.poll(() => limited().length).toBe(90);
  clock.advance(200);
  await honest.accept(clusterType);
});

it("a request of an additional service is bounded in size and time", async () => {
  const { address, limited, advance } = await setup(
    { requestTimeoutMs: 10_000 },
    {
      maxRequestBytes: mebibyte,
      routes: (router) =>
        router.service(ClientStatusDiscoveryService, {
          fetchClientStatus: () => ({ config: [{ clientScope: "here" }] }),
        }),
    },
  );
  const path = "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus";
  const call = (message: Buffer) => {
    const outcome: string[] = [];
    const channel = openChannel(
      address,
      "delta",
      {
        message: () => outcome.push("response"),
        ended: (error) => outcome.push(error ? (Code[error.code] ?? "") : "OK"),
      },
      { path },
    );
    ends.push(() => channel.cancel());
    channel.send(message);
    return outcome;
  };
  const served = call(Buffer.alloc(0));
  await expect.poll(() => served).toEqual(["response", "OK"]);
  const large = call(Buffer.alloc(5 * mebibyte));
  await expect.poll(() => large).toEqual(["ResourceExhausted"]);
  const unfinished = await opened(connectHttp2(address));
  unfinished.socket.write(
    Buffer.concat([openStream(1, path), frame(frameType.data, 0, 1, encodeFrame(Buffer.alloc(100), mebibyte))]),
  );
  await established(unfinished);
  await advance(12_000);
  await expect.poll(() => limited()).toEqual(["request_size", "request_timeout"]);
});
