import { connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { encodeFrame, FrameReader } from "@istiod/protobuf-wire";
import {
  clusterType,
  createXdsServer,
  extensionConfigType,
  type ListenOptions,
  secretType,
  staticSource,
} from "@istiod/xds-server";
import { encodeRequest, fakeResource, XdsClient } from "@istiod/xds-server/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { countingRelay } from "./counting-relay.js";
import { variants } from "./harness.js";
import { adsPath } from "./raw-http2.js";
import { hasOpenssl, NO_OPENSSL, selfSigned } from "./self-signed.js";

const gzip = { "grpc-accept-encoding": "identity, deflate, gzip" };
const content = "configuration ".repeat(20_000);

async function start(options: Partial<ListenOptions> = {}) {
  const source = staticSource({
    [clusterType]: [fakeResource("large", content), fakeResource("small", "a")],
    [secretType]: [fakeResource("secret", content)],
    [extensionConfigType]: [fakeResource("secret", content)],
  });
  const server = createXdsServer(source);
  onTestFinished(() => server.close({ graceMs: 0 }));
  const { port } = await server.listen({ port: 0, ...options });
  return { source, server, port };
}

/** Returns the header `grpc-encoding`, and the frames of the first responses to requests of types. */
async function frames(port: number, accepted: string | undefined, ...typeUrls: string[]) {
  const session = connect(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": adsPath,
    "content-type": "application/grpc",
    te: "trailers",
    ...(accepted !== undefined && { "grpc-accept-encoding": accepted }),
  });
  const node = toBinary(NodeSchema, create(NodeSchema, { id: "raw" }));
  for (const typeUrl of typeUrls)
    stream.write(
      encodeFrame(encodeRequest("delta", { typeUrl, node, ...(typeUrl !== clusterType && { names: ["secret"] }) })),
    );
  let encoding: unknown;
  stream.on("response", (headers) => (encoding = headers["grpc-encoding"]));
  const reader = new FrameReader(undefined, { acceptsCompressed: true });
  const received: { bytes: number; isCompressed: boolean }[] = [];
  stream.on("data", (chunk: Buffer) => {
    for (const { message, isCompressed } of reader.push(chunk)) received.push({ bytes: message.length, isCompressed });
  });
  await expect.poll(() => received.length).toBe(typeUrls.length);
  return { encoding, received };
}

describe.each(variants)("%s", (variant) => {
  test.for(["plaintext", "TLS"])(
    "a client that accepts gzip gets the same responses, in a tenth of the bytes, over %s",
    async (transport, { skip }) => {
      skip(transport === "TLS" && !hasOpenssl, NO_OPENSSL);
      const { source, port } = await start(transport === "TLS" ? { tls: selfSigned() } : {});
      const relays = [await countingRelay(port), await countingRelay(port)] as const;
      for (const relay of relays) onTestFinished(() => relay.close());
      const [compressed, plain] = relays.map((relay, i) => {
        const target = {
          host: "127.0.0.1",
          port: relay.port,
          ...(transport === "TLS" && { tls: { rejectUnauthorized: false } }),
        };
        const client = new XdsClient(target, { variant, headers: i === 0 ? gzip : {} });
        onTestFinished(() => client.close());
        return client;
      }) as [XdsClient, XdsClient];
      for (let round = 0; round < 3; round++) {
        if (round > 0) source.put(clusterType, fakeResource("large", content + String(round)));
        const [first, second] = [compressed, plain].map(async (client) => {
          if (round === 0) client.subscribe(clusterType, []);
          const response = await client.next(clusterType);
          client.ack(response);
          return response.resources.map(({ bytes }) => Buffer.from(bytes).toString());
        });
        expect(await first).toEqual(await second);
      }
      expect(relays[0].received).toBeLessThan(relays[1].received / 10);
    },
  );
});

test("only large responses are compressed, and no secrets", async () => {
  const { port } = await start();
  expect(await frames(port, "gzip", clusterType)).toEqual({
    encoding: "gzip",
    received: [{ bytes: expect.toSatisfy((bytes: number) => bytes < content.length / 10), isCompressed: true }],
  });
  const secret = { bytes: expect.toSatisfy((bytes: number) => bytes > content.length), isCompressed: false };
  for (const type of [secretType, extensionConfigType])
    expect(await frames(port, "gzip", type)).toEqual({ encoding: "gzip", received: [secret] });
});

test.each([[undefined], ["identity"], ["deflate"], ["xgzip,gzipx"]])(
  "a client that accepts %s gets no compressed response",
  async (accepted) => {
    const { port } = await start();
    const { encoding, received } = await frames(port, accepted, clusterType);
    expect(encoding).toBeUndefined();
    expect(received.map(({ isCompressed }) => isCompressed)).toEqual([false]);
  },
);

test("a listener can be told not to compress", async () => {
  const { port } = await start({ compression: false });
  expect((await frames(port, "gzip", clusterType)).received[0]?.isCompressed).toBe(false);
});
