import { create } from "@bufbuild/protobuf";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { decode, encode, type Packet } from "dns-packet";
import { afterAll, describe, expect, it } from "vitest";
import { DnsServer } from "../src/dns/dns-server.js";
import { exchangeTcp, exchangeUdp } from "../src/dns/exchange.js";
import { NameLookup } from "../src/dns/name-table.js";
import { settled } from "./hostile-peers.js";
import { listenOnBoth } from "./name-server.js";

const names = new NameLookup(create(NameTableSchema), { namespace: "", domain: "", search: [] });
const asked = encode({ type: "query", id: 4711, flags: 0x0100, questions: [{ type: "A", name: "real.example" }] });
const framed = (message: Buffer): Buffer =>
  Buffer.concat([Buffer.of(message.length >> 8, message.length & 255), message]);

/** Starts a DNS server with one upstream name server. */
async function serve(upstream: number, timeout: number) {
  let failed = 0;
  const server = new DnsServer({
    addresses: ["127.0.0.1"],
    port: 0,
    forwarding: { servers: [{ address: "127.0.0.1", port: upstream }], timeout, parallel: false },
    events: { failed: () => failed++ },
  });
  await server.start();
  server.update(names);
  afterAll(() => server.close());
  const at = { address: "127.0.0.1", port: server.ports[0]! };
  const exchange = { server: at, message: asked, timeout: 20_000, isResponse: () => true };
  return { udp: () => exchangeUdp(exchange), tcp: () => exchangeTcp(exchange), failed: () => failed };
}

const good = (query: Buffer, changes: Partial<Packet> = {}): Buffer => {
  const { id = 0, questions = [] } = decode(query);
  const answers = [{ type: "A" as const, name: questions[0]!.name, ttl: 5, data: "192.0.2.1" }];
  return encode({ type: "response", id, questions, answers, ...changes });
};

/** Replaces bytes of a good response, whose only answer begins after the question. */
const patched = (change: (response: Buffer, answer: number) => Buffer | void) => (query: Buffer) => {
  const response = good(query);
  return change(response, query.length) ?? response;
};

const malformed: [string, (query: Buffer) => Buffer][] = [
  ["a name that points at itself", patched((r, at) => void r.writeUInt16BE(0xc000 | at, at))],
  ["a name that points forward", patched((r, at) => void r.writeUInt16BE(0xc000 | (at + 4), at))],
  ["a name that points beyond the message", patched((r, at) => void r.writeUInt16BE(0xffff, at))],
  ["a label that exceeds the message", patched((r, at) => void r.writeUInt8(63, at))],
  ["a label of an unknown type", patched((r, at) => void r.writeUInt8(0x80, at))],
  ["more answers than it has", patched((r) => void r.writeUInt16BE(2, 6))],
  ["65,535 additional records", patched((r) => void r.writeUInt16BE(65_535, 10))],
  ["an address that is cut off", patched((r) => r.subarray(0, -1))],
  ["an address of five bytes", patched((r) => (r.writeUInt16BE(5, r.length - 6), Buffer.concat([r, Buffer.of(0)])))],
  ["data that exceeds the message", patched((r) => void r.writeUInt16BE(400, r.length - 6))],
  [
    "no question, and an answer",
    patched((r, at) => (r.writeUInt16BE(0, 4), Buffer.concat([r.subarray(0, 12), r.subarray(at)]))),
  ],
  ["two questions", patched((r) => void r.writeUInt16BE(2, 4))],
  ["another question", (query) => good(query, { questions: [{ type: "A", name: "evil.example" }] })],
  ["another type", (query) => good(query, { questions: [{ type: "AAAA", name: "real.example" }] })],
  ["another ID", (query) => good(query, { id: (decode(query).id ?? 0) ^ 1 })],
  ["the bit of a query", patched((r) => void r.writeUInt16BE(0x0100, 2))],
  ["another operation", patched((r) => void r.writeUInt16BE(r.readUInt16BE(2) | 0x2800, 2))],
  ["a header only", (query) => good(query).subarray(0, 12)],
  ["less than a header", () => Buffer.of(1, 2, 3)],
  ["nothing", () => Buffer.alloc(0)],
];

describe("an upstream name server's answer with", () => {
  it.each(malformed)("%s never reaches the client", async (_, answer) => {
    const upstream = await listenOnBoth(
      (query, reply) => reply(answer(query)),
      (connection) =>
        connection
          .on("error", () => undefined)
          .on("data", (bytes: Buffer) => {
            // Another process may take the port for that of a server that it knew.
            if (bytes.readUInt16BE(0) === bytes.length - 2) connection.write(framed(answer(bytes.subarray(2))));
            else connection.destroy();
          }),
    );
    const { udp, tcp, failed } = await serve(upstream, 200);
    for (const ask of [udp, tcp]) {
      const response = await ask();
      expect(response).toHaveLength(asked.length);
      expect(response.readUInt16BE(2) & 15).toBe(2);
    }
    expect(failed()).toBe(2);
  });

  it.each(malformed)("%s does not keep the client from a good one that follows", async (_, answer) => {
    const upstream = await listenOnBoth(
      (query, reply) => {
        reply(answer(query));
        reply(good(query));
      },
      (connection) => connection.destroy(),
    );
    const { udp } = await serve(upstream, 20_000);
    expect(decode(await udp()).answers).toMatchObject([{ data: "192.0.2.1" }]);
  });
});

describe("an upstream name server that", () => {
  it("sends the first byte of a TCP message and waits ends in SERVFAIL", async () => {
    const upstream = await listenOnBoth(
      () => undefined,
      (connection) => connection.on("error", () => undefined).on("data", () => connection.write(Buffer.of(255))),
    );
    const { tcp, failed } = await serve(upstream, 200);
    expect((await tcp()).readUInt16BE(2) & 15).toBe(2);
    expect(failed()).toBe(1);
  });

  it("never stops sending over TCP is read up to one message", async () => {
    let written = 0;
    const upstream = await listenOnBoth(
      () => undefined,
      (connection) => {
        const send = (): void => {
          if (!connection.destroyed && written < 64 * 2 ** 20)
            connection.write(Buffer.alloc(65_536, 255), () => ((written += 65_536), send()));
        };
        connection.on("error", () => undefined).once("data", send);
      },
    );
    const { tcp } = await serve(upstream, 20_000);
    expect((await tcp()).readUInt16BE(2) & 15).toBe(2);
    expect(await settled(() => written)).toBeLessThan(32 * 2 ** 20);
  });

  it("floods wrong answers over UDP does not keep the client from the right one", async () => {
    const upstream = await listenOnBoth(
      (query, reply) => {
        const id = decode(query).id ?? 0;
        for (let n = 1; n <= 1000; n++) reply(good(query, { id: id ^ n }));
        const again = setInterval(() => reply(good(query)), 20);
        afterAll(() => clearInterval(again));
        setTimeout(() => clearInterval(again), 5000).unref();
      },
      (connection) => connection.destroy(),
    );
    const { udp } = await serve(upstream, 10_000);
    expect(decode(await udp()).answers).toHaveLength(1);
  });
});
