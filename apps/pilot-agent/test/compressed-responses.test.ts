import { randomBytes } from "node:crypto";
import type http2 from "node:http2";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { DeltaDiscoveryResponseSchema } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { encodeFrame } from "@istiod/protobuf-wire";
import { clusterType } from "@istiod/resources";
import { describe, expect, it } from "vitest";
import { ResponseReader } from "../src/xds-proxy/response-reader.js";
import { hostileIstiod, rawEnvoy, settled, startProxy, type StartedProxy } from "./hostile-peers.js";

const mebibyte = 2 ** 20;
const gzip = { "grpc-encoding": "gzip" };

const response = (nonce: string, padding = ""): Uint8Array =>
  toBinary(
    DeltaDiscoveryResponseSchema,
    create(DeltaDiscoveryResponseSchema, { typeUrl: clusterType, nonce, removedResources: [padding] }),
  );

const compressed = (message: Uint8Array): Buffer => {
  const bytes = gzipSync(message);
  return encodeFrame(bytes, bytes.length, { isCompressed: true });
};

interface Attached extends StartedProxy {
  readonly envoy: ReturnType<typeof rawEnvoy>;
  readonly istiod: http2.ServerHttp2Stream;
}

/** Starts an agent between an Envoy and an istiod that responds with more headers. */
async function attach(
  headers: http2.OutgoingHttpHeaders,
  options: Parameters<typeof startProxy>[1] = {},
): Promise<Attached> {
  const streams: http2.ServerHttp2Stream[] = [];
  const started = await startProxy(await hostileIstiod((stream) => streams.push(stream.resume()), headers), options);
  const envoy = rawEnvoy(started.socket);
  await expect.poll(() => streams.length).toBe(1);
  return { ...started, envoy, istiod: streams[0]! };
}

const nonces = (messages: readonly Buffer[]): string[] =>
  messages.map((message) => fromBinary(DeltaDiscoveryResponseSchema, message).nonce);

describe("compressed responses", () => {
  it("are asked for, decompressed, and forwarded in order with those that are not", async () => {
    const accepted: unknown[] = [];
    const port = await hostileIstiod((stream, headers) => {
      accepted.push(headers["grpc-accept-encoding"]);
      for (let n = 0; n < 100; n++) {
        const message = response(String(n), "x".repeat((n % 7) * 50_000));
        stream.write(n % 3 === 0 ? encodeFrame(message) : compressed(message));
      }
    }, gzip);
    const { socket } = await startProxy(port);
    const envoy = rawEnvoy(socket);
    await expect.poll(() => envoy.messages.length, { timeout: 10_000 }).toBe(100);
    expect(nonces(envoy.messages)).toEqual(Array.from({ length: 100 }, (_, n) => String(n)));
    expect(envoy.messages[6]!.equals(response("6", "x".repeat(300_000)))).toBe(true);
    expect(accepted).toEqual(["gzip"]);
  });

  it("are forwarded before the stream ends with istiod's status", async () => {
    const { istiod, envoy } = await attach(gzip);
    const last = response("1", "x".repeat(20 * mebibyte));
    istiod.on("wantTrailers", () => istiod.sendTrailers({ "grpc-status": "8" }));
    istiod.end(compressed(last));
    await expect.poll(envoy.status).toBe("8");
    expect(nonces(envoy.messages)).toEqual(["1"]);
  });

  it.each([
    ["is decompressed", compressed(response("1", "x".repeat(mebibyte)))],
    ["fails to decompress", truncated()],
  ])("are discarded once the stream has ended, also one that %s at that time", async (_, frame) => {
    const calls: string[] = [];
    let isFull = true;
    const reader = new ResponseReader(200 * mebibyte, {
      message: () => calls.push("message"),
      isFull: () => isFull,
      drained: () => calls.push("drained"),
      failed: () => calls.push("failed"),
    });
    reader.encoding = "gzip";
    reader.push(Buffer.concat([frame, encodeFrame(response("2"))]));
    isFull = false;
    reader.continue();
    expect(reader.isBusy).toBe(true);
    reader.close();
    reader.continue();
    await expect.poll(() => reader.isBusy).toBe(false);
    expect(calls).toEqual([]);
  });

  it("end the stream if they are larger than the limit when they are decompressed", async () => {
    const { istiod, envoy, rejected, messages } = await attach(gzip, { maxMessageBytes: mebibyte });
    istiod.write(compressed(response("1", "x".repeat(100 * mebibyte))));
    await expect.poll(envoy.status).toBe("13");
    expect(envoy.messages).toEqual([]);
    expect(rejected).toEqual({ message_size: 1 });
    expect(messages().join()).toContain("gRPC message larger than max (1048576) after decompression");
  });

  it.for([
    ["are not gzip", gzip, encodeFrame(Buffer.alloc(100), 100, { isCompressed: true }), "cannot decompress a response"],
    ["end early", gzip, truncated(), "cannot decompress a response"],
    [
      "have an encoding that was not asked for",
      { "grpc-encoding": "br" },
      compressed(response("1")),
      "unknown encoding: br",
    ],
    ["have no encoding", {}, compressed(response("1")), "unknown encoding: identity"],
  ] as const)("end the stream if they %s", async ([, headers, frame, message]) => {
    const { istiod, envoy, messages } = await attach(headers);
    istiod.write(encodeFrame(response("before")));
    istiod.write(frame);
    istiod.write(encodeFrame(response("after")));
    await expect.poll(envoy.status).toBe("13");
    expect(nonces(envoy.messages)).toEqual(["before"]);
    expect(messages().join()).toContain(message);
  });

  it("are not decompressed in advance while Envoy does not read", async () => {
    let count = 0;
    const { istiod, envoy } = await attach(gzip, { events: { response: () => count++ } });
    envoy.stream.pause();
    const frame = compressed(response("1", "x".repeat(mebibyte)));
    for (let n = 0; n < 100; n++) istiod.write(frame);
    // Of 100 MiB, what fits into the window and the buffers of Envoy's stream.
    expect(await settled(() => count)).toBeLessThan(20);
    envoy.stream.resume();
    await expect.poll(() => envoy.messages.length, { timeout: 50_000 }).toBe(100);
  }, 90_000);
});

function truncated(): Buffer {
  const bytes = gzipSync(response("1", randomBytes(10_000).toString("hex"))).subarray(0, 5000);
  return encodeFrame(bytes, bytes.length, { isCompressed: true });
}
