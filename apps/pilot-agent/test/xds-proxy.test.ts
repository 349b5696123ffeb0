import { randomBytes } from "node:crypto";
import http2 from "node:http2";
import { connect } from "node:net";
import { join } from "node:path";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { extensionConfigType, listenerType, nameTableType } from "@istiod/resources";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileToken } from "../src/credentials/file-token.js";
import { XdsProxy, type XdsProxyOptions } from "../src/xds-proxy/xds-proxy.js";
import { HEALTH_TYPE } from "../src/xds-proxy/discovery-protocol.js";
import { encodeFrame, FrameReader } from "@istiod/protobuf-wire";
import { typeUrlIn } from "../src/xds-proxy/type-url.js";
import { FakeIstiod, put, scratch, TOKEN } from "./fakes.js";
import { recordingLog } from "./recording-log.js";

const CLUSTER_TYPE = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const DELTA = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
const SOTW = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

/** Envoy's side of a stream. */
class FakeEnvoy {
  readonly messages: Buffer[] = [];
  trailers: http2.IncomingHttpHeaders | undefined;
  readonly #session: http2.ClientHttp2Session;
  readonly #stream: http2.ClientHttp2Stream;

  constructor(socket: string, path: string) {
    this.#session = http2.connect("http://agent", { createConnection: () => connectUnix(socket) });
    this.#session.on("error", () => undefined);
    this.#stream = this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const reader = new FrameReader();
    this.#stream.on("data", (bytes: Buffer) => this.messages.push(...reader.push(bytes).map(({ message }) => message)));
    this.#stream.on("trailers", (trailers) => (this.trailers = trailers));
    this.#stream.on("response", (headers) => headers["grpc-status"] !== undefined && (this.trailers = headers));
    this.#stream.on("error", () => undefined);
  }

  ask(request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): void {
    this.#stream.write(
      encodeFrame(toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, request))),
    );
  }

  askAll(request: MessageInitShape<typeof DiscoveryRequestSchema>): void {
    this.#stream.write(encodeFrame(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, request))));
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  leave(): void {
    this.#stream.close(http2.constants.NGHTTP2_CANCEL);
    this.#session.close();
  }
}

const connectUnix = (path: string) => connect(path);

async function relayTo(
  istiod: FakeIstiod,
  more: Partial<XdsProxyOptions> = {},
): Promise<{ xdsProxy: XdsProxy; socket: string }> {
  const directory = await scratch();
  const socket = join(directory, "proxy", "XDS");
  await put(join(directory, "root.pem"), istiod.root);
  await put(join(directory, "token"), `${TOKEN}\n`);
  const xdsProxy = new XdsProxy({
    socket,
    upstream: {
      address: `127.0.0.1:${istiod.port}`,
      tls: { rootFile: join(directory, "root.pem") },
      token: fileToken(join(directory, "token")),
      clusterId: "Kubernetes",
      headers: { "x-tenant": "blue" },
    },
    ...more,
  });
  await xdsProxy.start();
  return { xdsProxy, socket };
}

/** @param random whether the padding cannot be compressed much */
const cluster = (name: string, padding = 0, random = false) => ({
  name,
  version: "v1",
  resource: anyPack(
    ClusterSchema,
    create(ClusterSchema, {
      name,
      altStatName: random ? randomBytes(padding).toString("base64").slice(0, padding) : "x".repeat(padding),
    }),
  ),
});

describe("the xDS proxy", () => {
  it("rewrites resources of a type before it forwards them, in order, while others are forwarded", async () => {
    const extension = (name: string) => ({
      name,
      version: "v1",
      resource: anyPack(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name })),
    });
    const istiod = await FakeIstiod.start({
      async *deltaAggregatedResources(requests) {
        for await (const _ of requests) {
          yield create(DeltaDiscoveryResponseSchema, { typeUrl: extensionConfigType, resources: [extension("slow")] });
          yield create(DeltaDiscoveryResponseSchema, { typeUrl: extensionConfigType, resources: [extension("fast")] });
          yield create(DeltaDiscoveryResponseSchema, { typeUrl: CLUSTER_TYPE, resources: [cluster("a")] });
        }
      },
    });
    let finish = (): void => undefined;
    const slow = new Promise<void>((resolve) => (finish = resolve));
    const rewriter = async (resource: Any) => {
      const { name } = fromBinary(TypedExtensionConfigSchema, resource.value);
      if (name === "slow") await slow;
      const config = anyPack(
        TypedExtensionConfigSchema,
        create(TypedExtensionConfigSchema, { name: `${name} rewritten` }),
      );
      return { config, isSubstitute: name === "slow" };
    };
    const { xdsProxy, socket } = await relayTo(istiod, { rewriters: { [extensionConfigType]: rewriter } });
    const envoy = new FakeEnvoy(socket, DELTA);
    envoy.ask({ typeUrl: CLUSTER_TYPE });
    await expect.poll(() => envoy.messages.length).toBe(1);
    finish();
    await expect.poll(() => envoy.messages.length).toBe(3);
    const received = envoy.messages.map((message) => fromBinary(DeltaDiscoveryResponseSchema, message).resources[0]);
    expect(received[0]?.name).toBe("a");
    expect(received.slice(1).map((each) => fromBinary(TypedExtensionConfigSchema, each!.resource!.value).name)).toEqual(
      ["slow rewritten", "fast rewritten"],
    );
    // A substitute has a version that istiod does not know, and is sent again when Envoy reconnects.
    expect(received.slice(1).map((each) => each?.version)).toEqual(["v1~substitute", "v1"]);
    envoy.leave();
    await xdsProxy.close();
    await istiod.stop();
  });

  it("forwards delta streams in both directions, with the workload's token", async () => {
    const seen: DeltaDiscoveryRequest[] = [];
    const istiod = await FakeIstiod.start({
      async *deltaAggregatedResources(requests) {
        for await (const request of requests) {
          seen.push(request);
          if (request.responseNonce === "")
            yield { typeUrl: request.typeUrl, nonce: "n1", resources: [cluster("a"), cluster("b")] };
        }
      },
    });
    const { xdsProxy, socket } = await relayTo(istiod);
    const envoy = new FakeEnvoy(socket, DELTA);
    envoy.ask({
      typeUrl: CLUSTER_TYPE,
      node: { id: "sidecar~1~a.b~c" },
      initialResourceVersions: { a: "v0" },
      resourceNamesSubscribe: ["*"],
    });
    await expect.poll(() => envoy.messages.length).toBe(1);
    const response = fromBinary(DeltaDiscoveryResponseSchema, envoy.messages[0]!);
    expect(response.resources.map(({ name }) => name)).toEqual(["a", "b"]);
    envoy.ask({ typeUrl: CLUSTER_TYPE, responseNonce: "n1" });
    await expect.poll(() => seen.length).toBe(2);
    expect(seen[0]).toMatchObject({
      initialResourceVersions: { a: "v0" },
      resourceNamesSubscribe: ["*"],
      node: { id: "sidecar~1~a.b~c" },
    });
    expect(istiod.headers[0]).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      clusterid: "Kubernetes",
      "x-tenant": "blue",
    });
    envoy.leave();
    await expect.poll(() => istiod.sessions.size).toBe(0);
    await xdsProxy.close();
  });

  it("forwards messages unchanged, including unknown fields", async () => {
    const original = toBinary(
      DeltaDiscoveryRequestSchema,
      create(DeltaDiscoveryRequestSchema, { typeUrl: CLUSTER_TYPE, responseNonce: "" }),
    );
    const withUnknown = Buffer.concat([original, Buffer.from([0xfa, 0x3e, 3, 1, 2, 3])]);
    const received: Buffer[] = [];
    const server = http2.createServer().on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      const reader = new FrameReader();
      stream.on("data", (bytes: Buffer) => received.push(...reader.push(bytes).map((one) => one.message)));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = join(await scratch(), "XDS");
    const xdsProxy = new XdsProxy({
      socket,
      upstream: {
        address: `127.0.0.1:${(server.address() as { port: number }).port}`,
        token: fileToken("/none"),
        clusterId: "",
      },
    });
    await xdsProxy.start();
    const session = http2.connect("http://agent", { createConnection: () => connectUnix(socket) });
    session
      .request({ ":method": "POST", ":path": DELTA, "content-type": "application/grpc" })
      .write(encodeFrame(withUnknown));
    await expect.poll(() => received.length).toBe(1);
    expect(received[0]!.equals(withUnknown)).toBe(true);
    session.destroy();
    await xdsProxy.close();
    server.close();
  });

  it("ends Envoy's stream when istiod disconnects, and reconnects for Envoy's next stream", async () => {
    let streams = 0;
    const versions: Record<string, string>[] = [];
    const istiod = await FakeIstiod.start({
      async *deltaAggregatedResources(requests) {
        streams++;
        for await (const request of requests) {
          versions.push(request.initialResourceVersions);
          yield { typeUrl: request.typeUrl, nonce: "n", resources: [] };
        }
      },
    });
    const ended: string[] = [];
    let failures = 0;
    const { xdsProxy, socket } = await relayTo(istiod, {
      events: { terminated: (side, how) => ended.push(`${side} ${how}`), connectionFailed: () => failures++ },
    });
    const first = new FakeEnvoy(socket, DELTA);
    first.ask({ typeUrl: CLUSTER_TYPE });
    await expect.poll(() => first.messages.length).toBe(1);
    await istiod.stop();
    await expect.poll(() => first.trailers?.["grpc-status"]).toBe("14");
    expect(ended).toEqual(["istiod error"]);

    const second = new FakeEnvoy(socket, DELTA);
    second.ask({ typeUrl: CLUSTER_TYPE });
    await expect.poll(() => second.trailers?.["grpc-status"]).toBe("14");
    expect(decodeURIComponent(String(second.trailers?.["grpc-message"]))).toContain(
      `failed to connect to upstream 127.0.0.1:${istiod.port}`,
    );
    expect(failures).toBe(1);

    await istiod.listen();
    const third = new FakeEnvoy(socket, DELTA);
    third.ask({ typeUrl: CLUSTER_TYPE, initialResourceVersions: { a: "v1" } });
    await expect.poll(() => third.messages.length).toBe(1);
    expect(streams).toBe(2);
    expect(versions.at(-1)).toEqual({ a: "v1" });
    await xdsProxy.close();
  });

  it("forwards istiod's gRPC status", async () => {
    const { ConnectError, Code } = await import("@connectrpc/connect");
    const istiod = await FakeIstiod.start({
      async *streamAggregatedResources() {
        throw new ConnectError("not today: 50% full", Code.PermissionDenied);
      },
    });
    const { xdsProxy, socket } = await relayTo(istiod);
    const envoy = new FakeEnvoy(socket, SOTW);
    envoy.askAll({ typeUrl: CLUSTER_TYPE });
    await expect.poll(() => envoy.trailers?.["grpc-status"]).toBe("7");
    expect(decodeURIComponent(String(envoy.trailers?.["grpc-message"]))).toBe("not today: 50% full");
    await xdsProxy.close();
  });

  it.each([
    ["delta", DELTA],
    ["state of the world", SOTW],
  ])(
    "asks for names itself after Envoy asked for listeners, takes them, and tells Envoy nothing (%s)",
    async (_, path) => {
      const asked: string[] = [];
      const answers: (DeltaDiscoveryRequest | DiscoveryRequest)[] = [];
      const table = anyPack(
        NameTableSchema,
        create(NameTableSchema, { table: { "a.example": { ips: ["10.0.0.1"] } } }),
      );
      const note = (request: DeltaDiscoveryRequest | DiscoveryRequest): boolean => {
        asked.push(request.typeUrl);
        if (request.typeUrl !== nameTableType) return false;
        if (request.responseNonce !== "") answers.push(request);
        return request.responseNonce === "";
      };
      const istiod = await FakeIstiod.start({
        async *deltaAggregatedResources(requests) {
          for await (const request of requests)
            if (note(request))
              yield {
                typeUrl: nameTableType,
                nonce: "n7",
                systemVersionInfo: "v7",
                resources: [{ name: "", resource: table }],
              };
        },
        async *streamAggregatedResources(requests) {
          for await (const request of requests)
            if (note(request)) yield { typeUrl: nameTableType, nonce: "n7", versionInfo: "v7", resources: [table] };
        },
      });
      const taken: string[] = [];
      const { xdsProxy, socket } = await relayTo(istiod, {
        handlers: { [nameTableType]: (resource) => taken.push(resource.typeUrl) },
      });
      const envoy = new FakeEnvoy(socket, path);
      const ask = (typeUrl: string): void => (path === DELTA ? envoy.ask({ typeUrl }) : envoy.askAll({ typeUrl }));
      ask(CLUSTER_TYPE);
      await expect.poll(() => asked).toEqual([CLUSTER_TYPE]);
      ask(listenerType);
      await expect.poll(() => answers.length).toBe(1);
      expect(asked).toEqual([CLUSTER_TYPE, listenerType, nameTableType, nameTableType]);
      expect(answers[0]).toMatchObject({ responseNonce: "n7" });
      expect(answers[0]!.errorDetail).toBeUndefined();
      expect(taken).toEqual([nameTableType]);
      expect(envoy.messages).toEqual([]);
      await xdsProxy.close();
    },
  );

  it("sends NACKs for the agent's own types, and skips unknown ones", async () => {
    const answers: DiscoveryRequest[] = [];
    const istiod = await FakeIstiod.start({
      async *streamAggregatedResources(requests) {
        for await (const request of requests) {
          if (request.responseNonce !== "") answers.push(request);
          else if (request.typeUrl === nameTableType)
            yield {
              typeUrl: nameTableType,
              nonce: "n",
              resources: [anyPack(NameTableSchema, create(NameTableSchema))],
            };
          else yield { typeUrl: "type.googleapis.com/istio.something.Else", nonce: "x", resources: [] };
        }
      },
    });
    const { xdsProxy, socket } = await relayTo(istiod, {
      handlers: {
        [nameTableType]: () => {
          throw new Error("no such table");
        },
      },
    });
    const envoy = new FakeEnvoy(socket, SOTW);
    envoy.askAll({ typeUrl: listenerType });
    await expect.poll(() => answers.length).toBe(1);
    expect(answers[0]).toMatchObject({ typeUrl: nameTableType, errorDetail: { message: "no such table" } });
    expect(envoy.messages).toEqual([]);
    await xdsProxy.close();
  });

  it("reports the application's health, and again after each reconnection", async () => {
    const reports: (string | undefined)[] = [];
    const istiod = await FakeIstiod.start({
      async *deltaAggregatedResources(requests) {
        for await (const request of requests)
          if (request.typeUrl === HEALTH_TYPE) reports.push(request.errorDetail?.message);
      },
    });
    const { xdsProxy, socket } = await relayTo(istiod);
    xdsProxy.reportHealth({ healthy: false, reason: "no answer" });
    const first = new FakeEnvoy(socket, DELTA);
    first.ask({ typeUrl: listenerType });
    await expect.poll(() => reports).toEqual(["no answer"]);
    xdsProxy.reportHealth({ healthy: true });
    await expect.poll(() => reports).toEqual(["no answer", undefined]);
    first.leave();
    new FakeEnvoy(socket, DELTA).ask({ typeUrl: listenerType });
    await expect.poll(() => reports).toEqual(["no answer", undefined, undefined]);
    await xdsProxy.close();
  });

  it("forwards a large push to a slow Envoy without buffering it", async () => {
    const count = 400;
    let sent = 0;
    const istiod = await FakeIstiod.start({
      async *deltaAggregatedResources(requests) {
        for await (const request of requests) {
          for (; sent < count; sent++)
            yield { typeUrl: request.typeUrl, nonce: String(sent), resources: [cluster(`c${sent}`, 200_000, true)] };
          return;
        }
      },
    });
    const { xdsProxy, socket } = await relayTo(istiod);
    const envoy = new FakeEnvoy(socket, DELTA);
    envoy.pause();
    envoy.ask({ typeUrl: CLUSTER_TYPE });
    await expect.poll(() => sent).toBeGreaterThan(5);
    let before = -1;
    await expect
      .poll(
        () => {
          const same = before === sent;
          before = sent;
          return same;
        },
        { interval: 300 },
      )
      .toBe(true);
    expect(sent).toBeLessThan(count / 2);
    envoy.resume();
    await expect.poll(() => envoy.messages.length, { timeout: 20_000 }).toBe(count);
    expect(fromBinary(DeltaDiscoveryResponseSchema, envoy.messages[count - 1]!).resources[0]!.name).toBe(
      `c${count - 1}`,
    );
    await xdsProxy.close();
  });

  it("ends the stream if a message of either side is larger than the limit", async () => {
    const istiod = await FakeIstiod.start({
      async *deltaAggregatedResources(requests) {
        for await (const { typeUrl } of requests) yield { typeUrl, nonce: "1", resources: [cluster("big", 2000)] };
      },
    });
    const { xdsProxy, socket } = await relayTo(istiod, { maxMessageBytes: 1000 });
    const receiver = new FakeEnvoy(socket, DELTA);
    receiver.ask({ typeUrl: CLUSTER_TYPE });
    await expect.poll(() => receiver.trailers?.["grpc-status"]).toBe("13");
    expect(decodeURIComponent(String(receiver.trailers?.["grpc-message"]))).toContain("larger than max");
    expect(receiver.messages).toEqual([]);
    const sender = new FakeEnvoy(socket, DELTA);
    sender.ask({ typeUrl: "x".repeat(2000) });
    await expect.poll(() => sender.trailers?.["grpc-status"]).toBe("13");
    await xdsProxy.close();
  });

  it("treats types with the names of an object's properties as unknown, and logs each once", async () => {
    const types = ["__proto__", "constructor", "toString", "line\nbreak"];
    const istiod = await FakeIstiod.start({
      async *deltaAggregatedResources(requests) {
        for await (const { typeUrl } of requests) {
          for (let n = 0; n < 10; n++)
            for (const type of types) yield { typeUrl: type, nonce: "n", resources: [cluster("a")] };
          yield { typeUrl, nonce: "last", resources: [] };
        }
      },
    });
    const { log, messages } = recordingLog();
    const { xdsProxy, socket } = await relayTo(istiod, { handlers: { [nameTableType]: () => undefined }, log });
    const envoy = new FakeEnvoy(socket, DELTA);
    envoy.ask({ typeUrl: CLUSTER_TYPE });
    await expect.poll(() => envoy.messages.length).toBe(1);
    expect(messages().filter((line) => line.startsWith("Skipping"))).toHaveLength(types.length);
    await xdsProxy.close();
  });

  it("serves the next stream after one that is reset at once", async () => {
    const istiod = await FakeIstiod.start({
      async *deltaAggregatedResources(requests) {
        for await (const { typeUrl } of requests) yield { typeUrl, nonce: "1", resources: [cluster("a")] };
      },
    });
    const { xdsProxy, socket } = await relayTo(istiod);
    for (let n = 0; n < 20; n++) {
      new FakeEnvoy(socket, DELTA).leave();
      new FakeEnvoy(socket, "/other").leave();
    }
    const envoy = new FakeEnvoy(socket, DELTA);
    envoy.ask({ typeUrl: CLUSTER_TYPE });
    await expect.poll(() => envoy.messages.length).toBe(1);
    await xdsProxy.close();
  });

  it("rejects other methods", async () => {
    const istiod = await FakeIstiod.start();
    const { xdsProxy, socket } = await relayTo(istiod);
    const envoy = new FakeEnvoy(socket, "/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaClusters");
    await expect.poll(() => envoy.trailers?.["grpc-status"]).toBe("12");
    await xdsProxy.close();
  });
});

describe("gRPC messages", () => {
  it("are split independently of chunks", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 70 }), { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 40 })),
        (messages, cuts) => {
          const all = Buffer.concat(messages.map((message) => encodeFrame(message)));
          const reader = new FrameReader();
          const out: Buffer[] = [];
          for (let at = 0; at < all.length;) {
            const size = cuts.next().value as number;
            out.push(...reader.push(all.subarray(at, at + size)).map(({ message }) => message));
            at += size;
          }
          expect(out.map((message) => message.toString("hex"))).toEqual(
            messages.map((message) => Buffer.from(message).toString("hex")),
          );
        },
      ),
    );
  });

  it("have a type URL that is read without decoding", () => {
    const message = toBinary(
      DiscoveryResponseSchema,
      create(DiscoveryResponseSchema, {
        versionInfo: "1",
        resources: [cluster("a").resource],
        canary: true,
        typeUrl: CLUSTER_TYPE,
        nonce: "n",
      }),
    );
    expect(typeUrlIn(Buffer.from(message), 4)).toBe(CLUSTER_TYPE);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          typeUrlIn(Buffer.from(bytes), 4);
        } catch (error) {
          expect(error).toMatchObject({ name: "AgentError", code: "discovery" });
        }
      }),
    );
  });
});
