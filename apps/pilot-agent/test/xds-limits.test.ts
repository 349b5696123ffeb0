import type http2 from "node:http2";
import { connect, type Socket } from "node:net";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { encodeFrame, FrameReader } from "@istiod/protobuf-wire";
import { clusterType, listenerType, nameTableType } from "@istiod/resources";
import { afterAll, describe, expect, it } from "vitest";
import { decodeNameTable, MAX_NAMES } from "../src/dns/name-table.js";
import { HEALTH_TYPE, MAX_AGENT_RESOURCES, MAX_AGENT_RESPONSE_BYTES } from "../src/xds-proxy/discovery-protocol.js";
import { hostileIstiod, rawEnvoy, settled, silentServer, SOTW, startProxy } from "./hostile-peers.js";

const mebibyte = 2 ** 20;

const requests = (count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, n) => encodeFrame(request(String(n), clusterType, 4000)));

const request = (nonce: string, typeUrl = clusterType, padding = 0): Uint8Array =>
  toBinary(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, {
      typeUrl,
      responseNonce: nonce,
      ...(padding > 0 ? { resourceNamesSubscribe: ["x".repeat(padding)] } : {}),
    }),
  );

const response = (typeUrl: string, nonce: string, padding = 0): Buffer =>
  encodeFrame(
    toBinary(
      DeltaDiscoveryResponseSchema,
      create(DeltaDiscoveryResponseSchema, { typeUrl, nonce, removedResources: ["x".repeat(padding)] }),
    ),
  );

/** Keeps the requests of a stream. @returns starts reading them */
function received(stream: http2.ServerHttp2Stream, into: { typeUrl: string; responseNonce: string; error?: string }[]) {
  const reader = new FrameReader();
  stream.on("data", (bytes: Buffer) => {
    for (const { message } of reader.push(bytes)) {
      const { typeUrl, responseNonce, errorDetail } = fromBinary(DeltaDiscoveryRequestSchema, message);
      into.push({ typeUrl, responseNonce, ...(errorDetail && { error: errorDetail.message }) });
    }
  });
}

describe("an Envoy that floods requests", () => {
  it("is paused while istiod does not read, and every request arrives in order afterwards", async () => {
    const streams: http2.ServerHttp2Stream[] = [];
    const port = await hostileIstiod((stream) => streams.push(stream.pause()));
    const { socket } = await startProxy(port);
    const envoy = rawEnvoy(socket);
    const count = 4000;
    const accepted = envoy.flood(requests(count));
    await expect.poll(() => streams.length).toBe(1);
    await expect.poll(accepted).toBeGreaterThan(0);
    const stalled = await settled(accepted);
    // Of 16 MB, only what the windows and buffers of three streams hold has left Envoy.
    expect(stalled).toBeLessThan(count / 8);
    const seen: { typeUrl: string; responseNonce: string }[] = [];
    received(streams[0]!, seen);
    streams[0]!.resume();
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(count);
    expect(seen.map(({ responseNonce }) => responseNonce)).toEqual(Array.from({ length: count }, (_, n) => String(n)));
  });

  it("is paused while the connection to istiod is not open, whatever the size of its requests", async () => {
    const connections: Socket[] = [];
    const port = await silentServer((socket) => connections.push(socket));
    const { socket } = await startProxy(port, {
      upstream: { tls: { rootFile: "SYSTEM" }, dialTimeout: 60_000 },
    });
    // Of 100,000. Buffers of streams hold the rest, which are larger in newer versions of Node.js.
    for (const [size, most] of [
      [0, 60_000],
      [2000, 1000],
    ] as const) {
      const envoy = rawEnvoy(socket);
      const batch = Buffer.concat(Array<Buffer>(100).fill(encodeFrame(Buffer.alloc(size))));
      const accepted = envoy.flood(Array<Buffer>(1000).fill(batch));
      await expect.poll(() => connections.length).toBeGreaterThan(0);
      await expect.poll(accepted).toBeGreaterThan(0);
      expect((await settled(accepted)) * 100).toBeLessThan(most);
      envoy.stream.close();
    }
  });

  it("opens one connection to istiod at a time, however many streams it opens", async () => {
    const open = new Set<Socket>();
    let most = 0;
    let total = 0;
    const port = await silentServer((socket) => {
      total++;
      open.add(socket.resume());
      most = Math.max(most, open.size);
      socket.on("close", () => open.delete(socket)).on("end", () => open.delete(socket));
    });
    const { socket, failures } = await startProxy(port, {
      upstream: { tls: { rootFile: "SYSTEM" }, dialTimeout: 60_000 },
    });
    const { session, ...first } = rawEnvoy(socket);
    const streams = [first];
    for (let round = 0; round < 20; round++) {
      for (let n = 0; n < 10; n++) streams.push(rawEnvoy(socket, SOTW, session));
      await expect.poll(() => streams.filter(({ isClosed }) => !isClosed()).length).toBe(1);
    }
    await expect.poll(() => open.size).toBe(1);
    expect(most).toBeLessThanOrEqual(2);
    expect(total).toBeLessThanOrEqual(21);
    expect(failures()).toBe(0);
    expect(streams.slice(0, -1).every(({ status }) => status() === "1")).toBe(true);
  });

  it("opens a limited number of connections and streams, and the established stream stays", async () => {
    const port = await hostileIstiod((stream) => stream.on("data", () => stream.write(response(clusterType, "again"))));
    const { socket, rejected, messages } = await startProxy(port, { maxConnections: 4 });
    const envoy = rawEnvoy(socket);
    await envoy.send(request(""));
    await expect.poll(() => envoy.messages.length).toBe(1);
    const others = Array.from({ length: 10 }, () => connect(socket));
    afterAll(() => others.forEach((other) => other.destroy()));
    let closed = 0;
    for (const other of others)
      other
        .on("error", () => undefined)
        .on("close", () => closed++)
        .resume();
    await expect.poll(() => closed).toBe(7);
    expect(rejected).toEqual({ connections: 7 });
    expect(messages().filter((line) => line.startsWith("too many connections"))).toHaveLength(7);
    await envoy.send(request("1"));
    await expect.poll(() => envoy.messages.length).toBe(2);
  });
});

describe("requests of the agent's own", () => {
  it("are replaced by later ones of their type while istiod does not read", async () => {
    const streams: http2.ServerHttp2Stream[] = [];
    const port = await hostileIstiod((stream) => streams.push(stream.pause()));
    const { socket, proxy } = await startProxy(port);
    const envoy = rawEnvoy(socket);
    await envoy.send(request("", listenerType));
    // Until the connection to istiod is open, the agent keeps 1 MiB of requests, and these are 0.8 MB.
    await expect.poll(() => streams.length).toBe(1);
    const accepted = envoy.flood(requests(200));
    await expect.poll(accepted).toBeGreaterThan(0);
    expect(await settled(accepted)).toBeLessThan(200);
    const reports = 5000;
    for (let n = 0; n < reports; n++) proxy.reportHealth({ healthy: false, reason: `failure ${n}` });
    const seen: { typeUrl: string; responseNonce: string; error?: string }[] = [];
    received(streams[0]!, seen);
    streams[0]!.resume();
    await expect.poll(() => seen.filter(({ typeUrl }) => typeUrl === clusterType).length).toBe(200);
    await expect.poll(() => seen.some(({ error }) => error === `failure ${reports - 1}`)).toBe(true);
    // On a loaded machine, some may be sent before the buffers are full.
    expect(seen.filter(({ typeUrl }) => typeUrl === HEALTH_TYPE).length).toBeLessThan(reports / 10);
  });

  it("stay few if istiod sends name tables and does not read the ACKs", async () => {
    const total = 20_000;
    let sent = 0;
    const streams: http2.ServerHttp2Stream[] = [];
    const table = response(nameTableType, "n".repeat(400));
    const port = await hostileIstiod((stream) => {
      streams.push(stream.pause());
      const send = (): void => {
        while (sent < total) {
          sent++;
          if (!stream.write(table)) return void stream.once("drain", send);
        }
      };
      send();
    });
    const { socket } = await startProxy(port, { handlers: { [nameTableType]: () => undefined } });
    const envoy = rawEnvoy(socket);
    await envoy.send(request("", listenerType));
    // 4 MiB fit into the window of the agent's stream.
    expect((await settled(() => sent)) * table.length).toBeLessThan(7 * mebibyte);
    const seen: { typeUrl: string; responseNonce: string }[] = [];
    received(streams[0]!, seen);
    streams[0]!.resume();
    await expect.poll(() => sent, { timeout: 20_000 }).toBe(total);
    await expect.poll(() => seen.length).toBeGreaterThan(0);
  });
});

describe("a hostile istiod", () => {
  const tableOf = (names: number): Uint8Array =>
    toBinary(
      NameTableSchema,
      create(NameTableSchema, {
        table: Object.fromEntries(Array.from({ length: names }, (_, n) => [`n${n}`, { ips: ["10.0.0.1"] }])),
      }),
    );

  it.each([
    ["an endless message", 2 * mebibyte, /gRPC message larger than max \(2097152 vs\. 1048576\)/],
    ["a message of 4 GiB", 0xffff_ffff, /gRPC message larger than max \(4294967295 vs\. 1048576\)/],
  ])("that sends %s ends the stream at its prefix", async (_, length, words) => {
    let written = 0;
    const port = await hostileIstiod((stream) => {
      stream.write(encodeFrame(Buffer.alloc(0), length));
      const send = (): void => {
        if (!stream.writable || written > 64 * mebibyte) return;
        stream.write(Buffer.alloc(65_536), () => ((written += 65_536), send()));
      };
      send();
    });
    const { socket, rejected, messages } = await startProxy(port, { maxMessageBytes: mebibyte });
    const envoy = rawEnvoy(socket);
    await envoy.send(request(""));
    await expect.poll(() => envoy.status()).toBe("13");
    expect(rejected).toEqual({ message_size: 1 });
    expect(messages().filter((line) => words.test(line))).toHaveLength(1);
    expect(await settled(() => written)).toBeLessThan(8 * mebibyte);
  });

  it("that never ends a stream is read no faster than Envoy reads", async () => {
    let sent = 0;
    const chunk = response(clusterType, "n", 60_000);
    const port = await hostileIstiod((stream) => {
      const send = (): void => {
        if (stream.writable) stream.write(chunk, () => (sent++, send()));
      };
      send();
    });
    const { socket } = await startProxy(port);
    const envoy = rawEnvoy(socket);
    await envoy.send(request(""));
    await expect.poll(() => envoy.messages.length).toBeGreaterThan(100);
    envoy.stream.pause();
    const stalled = await settled(() => sent - envoy.messages.length);
    expect(stalled * chunk.length).toBeLessThan(8 * mebibyte);
    envoy.stream.resume();
    const before = envoy.messages.length;
    await expect.poll(() => envoy.messages.length).toBeGreaterThan(before + 200);
    envoy.stream.close();
  });

  it.each([
    ["is too large", MAX_AGENT_RESPONSE_BYTES + 1, 0, /^response of \d+ bytes: at most 16777216$/],
    ["has too many resources", 0, MAX_AGENT_RESOURCES + 1, /^response with 65 resources: at most 64$/],
  ])("gets a NACK for a name table that %s, and the last good one stays", async (_, padding, resources, words) => {
    const handled: string[] = [];
    const answers: { nonce: string; error: string | undefined }[] = [];
    const table = anyPack(NameTableSchema, create(NameTableSchema));
    const message = (nonce: string, more: object): Buffer =>
      encodeFrame(
        toBinary(
          DiscoveryResponseSchema,
          create(DiscoveryResponseSchema, { typeUrl: nameTableType, nonce, versionInfo: "v", ...more }),
        ),
      );
    const port = await hostileIstiod((stream) => {
      const reader = new FrameReader();
      stream.on("data", (bytes: Buffer) => {
        for (const { message: each } of reader.push(bytes)) {
          const { typeUrl, responseNonce, errorDetail } = fromBinary(DiscoveryRequestSchema, each);
          if (typeUrl !== nameTableType) continue;
          if (responseNonce !== "") answers.push({ nonce: responseNonce, error: errorDetail?.message });
          else {
            stream.write(message("good", { resources: [table] }));
            const bad = { ...table, value: Buffer.alloc(padding) };
            stream.write(message("bad", { resources: resources === 0 ? [bad] : Array(resources).fill(table) }));
          }
        }
      });
    });
    const { socket, rejected } = await startProxy(port, {
      handlers: { [nameTableType]: ({ typeUrl }) => handled.push(typeUrl) },
    });
    const envoy = rawEnvoy(socket, SOTW);
    await envoy.send(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, { typeUrl: listenerType })));
    await expect.poll(() => answers.length, { timeout: 10_000 }).toBe(2);
    expect(answers).toEqual([
      { nonce: "good", error: undefined },
      { nonce: "bad", error: expect.stringMatching(words) },
    ]);
    expect(handled).toHaveLength(1);
    expect(rejected).toEqual({ agent_resource: 1 });
  });

  it("has a limit on the names of a name table, with their alternatives", () => {
    expect(Object.keys(decodeNameTable(tableOf(10)).table)).toHaveLength(10);
    const words = new RegExp(`name table with \\d+ names: at most ${MAX_NAMES} are accepted`);
    expect(() => decodeNameTable(tableOf(MAX_NAMES + 1))).toThrow(words);
    const alternatives = create(NameTableSchema, {
      table: { a: { ips: ["10.0.0.1"], altHosts: Array<string>(MAX_NAMES).fill("b") } },
    });
    expect(() => decodeNameTable(toBinary(NameTableSchema, alternatives))).toThrow(words);
  });

  it("that does not answer pings is disconnected, and one that does not read at all, too", async () => {
    const sockets: Socket[] = [];
    const closed: Socket[] = [];
    // The client's connection preface is enough for node:http2 to report a connection.
    const port = await silentServer((socket) => {
      sockets.push(socket.pause());
      socket.on("close", () => closed.push(socket));
    });
    const { socket, messages } = await startProxy(port, {
      upstream: { keepaliveInterval: 50, keepaliveTimeout: 50 },
    });
    const envoy = rawEnvoy(socket);
    await envoy.send(request(""));
    await expect.poll(() => envoy.status()).toBe("14");
    sockets[0]!.resume();
    await expect.poll(() => closed.length).toBe(1);
    expect(messages().some((line) => line.startsWith("connected to upstream"))).toBe(true);
  });

  it("that is silent during the handshake ends the stream after the timeout of the connection", async () => {
    const port = await silentServer();
    const { socket, failures, messages } = await startProxy(port, {
      upstream: { tls: { rootFile: "SYSTEM" }, dialTimeout: 100 },
    });
    const envoy = rawEnvoy(socket);
    await envoy.send(request(""));
    await expect.poll(() => envoy.status()).toBe("14");
    expect(failures()).toBe(1);
    expect(messages()).toContain(`failed to connect to upstream 127.0.0.1:${port}: no connection within 0.1 s`);
  });
});
