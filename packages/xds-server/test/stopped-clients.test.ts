import { create, toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { FakeClock } from "@istiod/runtime/testing";
import {
  clusterType,
  createXdsServer,
  type ListenOptions,
  staticSource,
  type XdsServer,
  type XdsServerOptions,
} from "@istiod/xds-server";
import { encodeRequest, fakeResource, idle } from "@istiod/xds-server/testing";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openSockets, type PeerProcess, startClients } from "./peer-process.js";
import { adsPath } from "./raw-http2.js";
import { hasOpenssl, NO_OPENSSL, selfSigned } from "./self-signed.js";

const connections = 4;
/** More than the buffers of a connection hold. */
const blockedBytes = 8 * 1024 * 1024;

describe.each(["plaintext", "TLS"])("over %s, to clients that are stopped while responses are written", (transport) => {
  const tls = transport === "TLS" && hasOpenssl ? selfSigned() : undefined;
  beforeEach(({ skip }) => skip(transport === "TLS" && !hasOpenssl, NO_OPENSSL));

  interface Blocked {
    readonly server: XdsServer;
    readonly peer: PeerProcess;
    /** Advances the clock of the server. */
    advance(ms: number): Promise<void>;
  }

  /** Serves clients that are stopped then, and changes a resource, so that the responses are blocked. */
  async function blockedResponses(
    options: XdsServerOptions & Pick<ListenOptions, "keepAlive" | "maxAge"> = {},
  ): Promise<Blocked> {
    const clock = new FakeClock();
    const source = staticSource({ [clusterType]: [fakeResource("cluster", "small")] });
    const server = createXdsServer(source, { ...options, clock });
    const { port } = await server.listen({ port: 0, ...options, ...(tls && { tls }) });
    const advance = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 1000) {
        clock.advance(1000);
        await idle();
      }
    };
    onTestFinished(async () => {
      const closed = server.close({ graceMs: 0 });
      await advance(5000);
      await closed;
    });
    const node = toBinary(NodeSchema, create(NodeSchema, { id: "stopped" }));
    const request = encodeRequest("delta", { typeUrl: clusterType, node });
    const url = `${tls ? "https" : "http"}://127.0.0.1:${port}`;
    const peer = await startClients(connections, url, adsPath, request);
    peer.stop();
    source.put(clusterType, fakeResource("cluster", "a".repeat(blockedBytes)));
    const outstanding = (): number[] => server.connections().map(({ outstandingBytes }) => outstandingBytes);
    for (let before = ""; before !== outstanding().join() || !outstanding().every((bytes) => bytes > 0);) {
      before = outstanding().join();
      clock.advance(20);
      await idle();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(outstanding()).toHaveLength(connections);
    return { server, peer, advance };
  }

  const keepAlive = { intervalMs: 600_000, timeoutMs: 10_000 };
  test.each([
    ["a ping times out", { keepAlive: { intervalMs: 30_000, timeoutMs: 10_000 } }, 42_000],
    ["nothing was read for the send timeout", { keepAlive, sendTimeoutMs: 20_000 }, 30_000],
    [
      "the maximum age is reached",
      { keepAlive, sendTimeoutMs: 600_000, maxAge: { ms: 20_000, graceMs: 1000 } },
      30_000,
    ],
  ])(
    "closes the sockets when %s",
    async (_, options, ms) => {
      const { advance } = await blockedResponses(options);
      await advance(ms);
      await expect.poll(openSockets, { timeout: 15_000 }).toBe(0);
    },
    30_000,
  );

  test("closes the sockets of a peer that is killed", async () => {
    const { peer, advance, server } = await blockedResponses({ sendTimeoutMs: 600_000 });
    await peer.kill();
    await advance(42_000);
    await expect.poll(() => server.connections(), { timeout: 15_000 }).toEqual([]);
    await expect.poll(openSockets, { timeout: 15_000 }).toBe(0);
  }, 30_000);

  test("shuts down", async () => {
    const { server, advance } = await blockedResponses({ keepAlive, sendTimeoutMs: 600_000 });
    const closed = server.close({ graceMs: 0 });
    await advance(5000);
    await closed;
    expect(openSockets()).toBe(0);
  }, 30_000);
});
