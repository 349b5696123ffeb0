import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { create } from "@bufbuild/protobuf";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { FakeClock } from "@istiod/runtime/testing";
import { decode, encode, type Packet, streamDecode, streamEncode } from "dns-packet";
import { afterAll, describe, expect, it } from "vitest";
import { DnsServer, type DnsServerOptions } from "../src/dns/dns-server.js";
import { exchangeTcp, exchangeUdp, type UpstreamServer } from "../src/dns/exchange.js";
import { NameLookup } from "../src/dns/name-table.js";
import { decodeQuery, type Query } from "../src/dns/query.js";
import { addressResponse } from "../src/dns/response.js";
import { MESSAGE_TIMEOUT } from "../src/dns/tcp-listener.js";
import { UdpListener } from "../src/dns/udp-listener.js";
import { silentLog } from "../src/log.js";
import { listenOnBoth } from "./name-server.js";

const hosts = 5000;
const table = create(NameTableSchema, {
  table: {
    "cart.example": { ips: ["10.0.0.1"], registry: "External" },
    "many.example": {
      ips: Array.from({ length: hosts }, (_, n) => `10.1.${n >> 8}.${n & 255}`),
      registry: "External",
    },
    [`${"x".repeat(64)}.example`]: { ips: ["10.0.0.2"], registry: "External" },
    [`${"long.".repeat(51)}example`]: { ips: ["10.0.0.3"], registry: "External" },
    "new\nline.example": { ips: ["10.0.0.4"], registry: "External" },
  },
});
const names = new NameLookup(table, { namespace: "shop", domain: "shop.svc.cluster.local", search: [] });
const any = (): boolean => true;

interface Edns {
  readonly size: number;
  readonly version?: number;
}

function ednsRecord({ size, version = 0 }: Edns) {
  return {
    type: "OPT" as const,
    name: ".",
    udpPayloadSize: size,
    extendedRcode: 0,
    ednsVersion: version,
    flags: 0,
    flag_do: false,
    options: [],
  };
}

function question(name: string, edns?: Edns): Buffer {
  const packet: Packet = {
    type: "query",
    id: 4711,
    flags: 0x0100,
    questions: [{ type: "A", name }],
    additionals: edns ? [ednsRecord(edns)] : [],
  };
  return encode(packet);
}

async function serve(options: Partial<DnsServerOptions> = {}) {
  const counts: Record<string, number> = {};
  const server = new DnsServer({
    addresses: ["127.0.0.1"],
    port: 0,
    forwarding: { servers: [], timeout: 1000, parallel: false },
    events: { rejected: (reason) => (counts[reason] = (counts[reason] ?? 0) + 1) },
    ...options,
  });
  await server.start();
  server.update(names);
  afterAll(() => server.close());
  const at = { address: "127.0.0.1", port: server.ports[0]! };
  const ask = (message: Buffer, timeout = 5000): Promise<Buffer> =>
    exchangeUdp({ server: at, message, timeout, isResponse: any });
  const askTcp = (message: Buffer): Promise<Buffer> =>
    exchangeTcp({ server: at, message, timeout: 5000, isResponse: any });
  return { server, at, ask, askTcp, counts };
}

/** Starts an upstream name server over UDP and TCP. `respond` returns the datagrams of a query. */
async function upstream(respond: (query: Buffer) => Buffer[]): Promise<UpstreamServer & { received: Buffer[] }> {
  const received: Buffer[] = [];
  const port = await listenOnBoth(
    (message, reply) => {
      received.push(message);
      for (const response of respond(message)) reply(response);
    },
    (connection) =>
      connection
        .on("error", () => undefined)
        .on("data", (bytes: Buffer) => {
          for (const response of respond(bytes.subarray(2)))
            connection.write(Buffer.concat([Buffer.of(response.length >> 8, response.length & 255), response]));
        }),
  );
  return { address: "127.0.0.1", port, received };
}

/** Builds a response to a query with `count` addresses. */
function addressesFor(query: Buffer, count: number, changes: Partial<Packet> = {}): Buffer {
  const { id, questions = [] } = decode(query);
  const name = questions[0]?.name ?? "";
  return encode({
    type: "response",
    id: id ?? 0,
    questions,
    answers: Array.from({ length: count }, (_, n) => ({
      type: "A" as const,
      name,
      ttl: 5,
      data: `192.0.${n >> 8}.${n & 255}`,
    })),
    ...changes,
  });
}

const rcode = (response: Buffer): number => response.readUInt16BE(2) & 15;
const isTruncated = (response: Buffer): boolean => (response.readUInt16BE(2) & 0x0200) !== 0;

describe("a datagram from port 0", () => {
  it("is dropped and counted, and the listener keeps answering", async () => {
    const rejected: string[] = [];
    const listener = new UdpListener("127.0.0.1", {
      resolve: async (message) => message,
      rejected: (reason) => rejected.push(reason),
      log: silentLog,
    });
    await listener.listen("127.0.0.1", 0);
    await listener.receive(question("cart.example"), { address: "127.0.0.1", port: 0 });
    expect(rejected).toEqual(["port_zero"]);
    const echo = await exchangeUdp({
      server: { address: "127.0.0.1", port: listener.port },
      message: Buffer.from("echo"),
      timeout: 5000,
      isResponse: any,
    });
    expect(echo.toString()).toBe("echo");
    await listener.close();
  });

  it("is dropped if a raw socket sends it", async ({ skip }) => {
    const { at, ask, counts } = await serve();
    const datagram = Buffer.concat([Buffer.alloc(8), question("cart.example")]);
    datagram.writeUInt16BE(at.port, 2);
    datagram.writeUInt16BE(datagram.length, 4);
    const script = `import socket,sys
s=socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
s.sendto(bytes.fromhex(sys.argv[1]), ("127.0.0.1", 0))`;
    const { status } = spawnSync("python3", ["-c", script, datagram.toString("hex")], { timeout: 10_000 });
    skip(status !== 0, "no python3 with permission for raw sockets");
    await expect.poll(() => counts).toEqual({ port_zero: 1 });
    expect(decode(await ask(question("cart.example"))).answers).toMatchObject([{ data: "10.0.0.1" }]);
  });
});

describe("malformed queries", () => {
  const header = (counts: number[], flags = 0x0100): Buffer => {
    const head = Buffer.alloc(12);
    head.writeUInt16BE(7, 0);
    head.writeUInt16BE(flags, 2);
    counts.forEach((count, n) => head.writeUInt16BE(count, 4 + 2 * n));
    return head;
  };
  const name = (...labels: string[]): Buffer =>
    Buffer.concat([...labels.flatMap((label) => [Buffer.of(label.length), Buffer.from(label)]), Buffer.of(0)]);
  const typed = Buffer.of(0, 1, 0, 1);
  const opt = (root: Buffer = Buffer.of(0)): Buffer => Buffer.concat([root, Buffer.of(0, 41, 16, 0, 0, 0, 0, 0, 0, 0)]);

  it.each([
    ["no question", header([0, 0, 0, 0])],
    ["two questions", Buffer.concat([header([2, 0, 0, 0]), name("a"), typed, name("a"), typed])],
    ["a missing question", header([1, 0, 0, 0])],
    ["a question without a class", Buffer.concat([header([1, 0, 0, 0]), name("a"), Buffer.of(0, 1)])],
    ["a pointer to itself", Buffer.concat([header([1, 0, 0, 0]), Buffer.of(0xc0, 12), typed])],
    ["a label of 64 bytes", Buffer.concat([header([1, 0, 0, 0]), name("x".repeat(64)), typed])],
    [
      "a name of more than 255 bytes",
      Buffer.concat([header([1, 0, 0, 0]), name(...Array<string>(5).fill("x".repeat(60))), typed]),
    ],
    ["65,535 additional records", Buffer.concat([header([1, 0, 0, 65535]), name("a"), typed])],
    ["a missing record", Buffer.concat([header([1, 0, 0, 1]), name("a"), typed])],
    ["two OPT records", Buffer.concat([header([1, 0, 0, 2]), name("a"), typed, opt(), opt()])],
    ["an OPT record with a name", Buffer.concat([header([1, 0, 0, 1]), name("a"), typed, opt(name("b"))])],
    [
      "record names that point at each other",
      Buffer.concat([header([1, 1, 0, 0]), name("a"), typed, Buffer.of(0xc0, 19), Buffer.alloc(10)]),
    ],
  ])("with %s get FORMERR", async (_, message) => {
    const { ask } = await serve();
    const response = await ask(message);
    expect([response.length, response.readUInt16BE(0), rcode(response)]).toEqual([12, message.readUInt16BE(0), 1]);
  });

  it("of other operations get NOTIMP", async () => {
    const { ask } = await serve();
    const response = await ask(Buffer.concat([header([1, 0, 0, 0], 5 << 11), name("a"), typed]));
    expect([response.length, rcode(response)]).toEqual([12, 4]);
  });

  it("that are responses or shorter than a header get no response", () => {
    expect(decodeQuery(header([1, 0, 0, 0], 0x8000))).toEqual({ kind: "ignored" });
    expect(decodeQuery(Buffer.alloc(11))).toEqual({ kind: "ignored" });
  });

  it("with unusual bytes have an unambiguous name on one line", () => {
    const message = Buffer.concat([header([1, 0, 0, 0]), name("cart.shop\n\x1b[2J", "svc"), typed]);
    const received = decodeQuery(message);
    expect(received.kind === "query" && received.query.name).toBe("cart\\046shop\\010\\027\\0912J.svc");
  });
});

describe("EDNS", () => {
  const optOf = (response: Buffer) => decode(response).additionals?.find(({ type }) => type === "OPT");

  it("caps responses at 4,096 bytes and truncates them, and TCP has the rest", async () => {
    const { ask, askTcp } = await serve();
    for (const [size, expected] of [
      [65535, 4096],
      [4097, 4096],
      [1232, 1232],
      [511, 512],
      [1, 512],
    ] as const) {
      const response = await ask(question("many.example", { size }));
      expect(response.length).toBeLessThanOrEqual(expected);
      expect(response.length).toBeGreaterThan(expected - 16);
      expect(isTruncated(response)).toBe(true);
      expect(optOf(response)).toMatchObject({ udpPayloadSize: 4096, ednsVersion: 0 });
    }
    const whole = await askTcp(question("many.example", { size: 512 }));
    expect(whole.length).toBeLessThanOrEqual(65535);
    expect(isTruncated(whole)).toBe(true);
    expect(decode(whole).answers).toHaveLength(Math.floor((65535 - 30 - 11) / 16));
  });

  it("is in responses to queries with it only", async () => {
    const { ask } = await serve();
    expect(optOf(await ask(question("cart.example")))).toBeUndefined();
    expect(optOf(await ask(question("cart.example", { size: 1232 })))).toBeDefined();
  });

  it("of another version gets BADVERS", async () => {
    const { ask } = await serve();
    const query = question("cart.example", { size: 1232, version: 1 });
    const response = await ask(query);
    expect(rcode(response)).toBe(0);
    expect(optOf(response)).toMatchObject({ extendedRcode: 1, ednsVersion: 0 });
    expect(response.length).toBeLessThanOrEqual(query.length);
  });

  it("of a forwarded query states the size that the agent accepts, and longer responses are truncated", async () => {
    const server = await upstream((query) => [addressesFor(query, 300)]);
    const { ask, askTcp } = await serve({ forwarding: { servers: [server], timeout: 1000, parallel: false } });
    const response = await ask(question("big.example", { size: 65535 }));
    expect(decode(server.received[0]!).additionals).toMatchObject([{ udpPayloadSize: 4096 }]);
    expect(response.length).toBeLessThanOrEqual(4096);
    expect(isTruncated(response)).toBe(true);
    expect(decode(response).answers!.length).toBeGreaterThan(100);
    expect(optOf(response)).toBeDefined();
    expect((await ask(question("big.example"))).length).toBeLessThanOrEqual(512);
    expect(decode(await askTcp(question("big.example"))).answers).toHaveLength(300);
  });
});

describe("upstream responses", () => {
  it("with another ID or question, or malformed, are ignored", async () => {
    const server = await upstream((query) => {
      const { id = 0 } = decode(query);
      const loop = addressesFor(query, 1);
      loop.writeUInt16BE(0xc000 | (query.length - 2), query.length);
      return [
        addressesFor(query, 1, { id: id ^ 1, answers: [] }),
        addressesFor(query, 1, { questions: [{ type: "A", name: "other.example" }] }),
        encode({ type: "query", id, questions: [{ type: "A", name: "real.example" }] }),
        Buffer.from("short"),
        addressesFor(query, 2),
      ];
    });
    const { ask } = await serve({ forwarding: { servers: [server], timeout: 2000, parallel: false } });
    const response = decode(await ask(question("real.example")));
    expect(response.id).toBe(4711);
    expect(response.answers).toHaveLength(2);
  });

  it("are matched to queries with random IDs and ports", async () => {
    const ports = new Set<number>();
    const ids = new Set<number>();
    const socket = createSocket("udp4");
    socket.on("message", (message, from) => {
      ports.add(from.port);
      ids.add(message.readUInt16BE(0));
      socket.send(addressesFor(message, 1), from.port, from.address);
    });
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    afterAll(() => socket.close());
    const server = { address: "127.0.0.1", port: socket.address().port };
    const { ask } = await serve({ forwarding: { servers: [server], timeout: 2000, parallel: false } });
    for (let n = 0; n < 20; n++) await ask(question(`n${n}.example`));
    expect(ids.size).toBeGreaterThan(15);
    expect(ports.size).toBeGreaterThan(5);
  });

  it("serve equal queries that wait at the same time", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const asked: Buffer[] = [];
    const socket = createSocket("udp4");
    socket.on("message", (message, from) => {
      asked.push(message);
      void held.then(() => socket.send(addressesFor(message, 1), from.port, from.address));
    });
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    afterAll(() => socket.close());
    const server = { address: "127.0.0.1", port: socket.address().port };
    const { ask } = await serve({ forwarding: { servers: [server], timeout: 5000, parallel: false } });
    const first = question("same.example");
    const second = question("same.example");
    second.writeUInt16BE(815, 0);
    const responses = Promise.all([ask(first), ask(second), ask(question("other.example"))]);
    await expect.poll(() => asked.length).toBe(2);
    release();
    expect((await responses).map((response) => response.readUInt16BE(0))).toEqual([4711, 815, 4711]);
    expect(asked).toHaveLength(2);
  });

  it.each([false, true])("that cannot arrive end in SERVFAIL (all servers at once: %s)", async (parallel) => {
    const servers = [
      { address: "fe80::1", port: 53 },
      { address: "255.255.255.255", port: 53 },
      { address: "127.0.0.1", port: 1 },
    ];
    const { ask, askTcp } = await serve({ forwarding: { servers, timeout: 500, parallel } });
    expect(rcode(await ask(question("a.example")))).toBe(2);
    expect(rcode(await askTcp(question("a.example")))).toBe(2);
  });
});

describe("limits of the DNS server", () => {
  it("reject queries beyond the forwarded ones with SERVFAIL, and the mesh's names still resolve", async () => {
    const silent = await upstream(() => []);
    const { ask, counts } = await serve({
      forwarding: { servers: [silent], timeout: 3000, parallel: false, maxConcurrent: 8 },
    });
    const codes: number[] = [];
    const flood = Array.from({ length: 40 }, (_, n) =>
      ask(question(`n${n}.example`), 20_000).then((response) => codes.push(rcode(response))),
    );
    await expect.poll(() => codes.length).toBe(36);
    expect(new Set(codes)).toEqual(new Set([2]));
    expect(counts).toEqual({ forwards: 36 });
    expect(silent.received).toHaveLength(4);
    expect(decode(await ask(question("cart.example"))).answers).toHaveLength(1);
    await Promise.all(flood);
    expect(codes).toHaveLength(40);
  });

  it("answer an honest query during a flood of junk", async () => {
    const { at, ask } = await serve();
    const socket = createSocket("udp4");
    afterAll(() => socket.close());
    let isFlooding = true;
    const flood = (async () => {
      for (let n = 0; isFlooding && n < 200_000; n++) {
        const junk = Buffer.alloc(40, n & 255);
        await new Promise<void>((resolve) => socket.send(junk, at.port, at.address, () => resolve()));
      }
    })();
    for (let n = 0; n < 20; n++)
      await expect.poll(async () => decode(await ask(question("cart.example"), 500)).answers).toHaveLength(1);
    isFlooding = false;
    await flood;
  });

  it("refuse queries of other machines unless they are allowed", async ({ skip }) => {
    const address = Object.values(networkInterfaces())
      .flat()
      .find((each) => each !== undefined && !each.internal && each.family === "IPv4")?.address;
    skip(address === undefined, "this machine has no address other than loopback");
    const { server, ask } = await serve({ addresses: ["0.0.0.0"] });
    const own = await exchangeUdp({
      server: { address: address!, port: server.ports[0]! },
      message: question("cart.example"),
      timeout: 5000,
      isResponse: any,
    });
    expect(decode(own).answers).toHaveLength(1);
    expect(decode(await ask(question("cart.example"))).answers).toHaveLength(1);
  });

  it("ignore malformed names of the name table", () => {
    expect(names.size).toBe(2);
    const received = decodeQuery(question("cart.example")) as { query: Query };
    const response = addressResponse(received.query, `${"x".repeat(64)}.example`, ["10.0.0.1"], 512);
    expect(decode(response).answers).toMatchObject([{ type: "A", name: "cart.example" }]);
  });
});

describe("TCP connections", () => {
  const dial = async (port: number): Promise<{ socket: Socket; received: Buffer[]; isClosed: () => boolean }> => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const received: Buffer[] = [];
    let closed = false;
    socket.on("data", (bytes: Buffer) => received.push(bytes));
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end());
    socket.on("close", () => (closed = true));
    afterAll(() => socket.destroy());
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    return { socket, received, isClosed: () => closed };
  };

  it("are closed if a message does not arrive in time, whatever trickles in", async () => {
    const clock = new FakeClock();
    const { at } = await serve({ clock });
    const { socket, isClosed } = await dial(at.port);
    await expect.poll(() => clock.pending).toEqual([MESSAGE_TIMEOUT]);
    socket.write(Buffer.of(0));
    clock.advance(MESSAGE_TIMEOUT - 1);
    socket.write(Buffer.of(40));
    expect(isClosed()).toBe(false);
    clock.advance(1);
    await expect.poll(isClosed).toBe(true);
  });

  it("are limited in number, and one client gets half", async () => {
    const { at, counts, askTcp } = await serve({ maxConnections: 4 });
    const open = [await dial(at.port), await dial(at.port)];
    const third = await dial(at.port);
    await expect.poll(third.isClosed).toBe(true);
    expect(counts).toEqual({ connections: 1 });
    open[0]!.socket.destroy();
    await expect.poll(async () => (await askTcp(question("cart.example")).catch(() => undefined))?.length).toBe(46);
  });

  it("answer a client that closes its side after the query", async () => {
    const { at } = await serve();
    const { socket, received, isClosed } = await dial(at.port);
    socket.end(streamEncode({ type: "query", id: 1, questions: [{ type: "A", name: "cart.example" }] }));
    await expect.poll(isClosed).toBe(true);
    expect(streamDecode(Buffer.concat(received)).answers).toHaveLength(1);
  });

  it("pause while a client does not read", async () => {
    let resolved = 0;
    const { at } = await serve({ events: { query: () => resolved++ } });
    const { socket } = await dial(at.port);
    socket.pause();
    const query = streamEncode({ type: "query", id: 1, questions: [{ type: "A", name: "many.example" }] });
    socket.write(Buffer.concat(Array<Buffer>(3000).fill(query)));
    const counts: number[] = [];
    await expect
      .poll(() => counts.push(resolved) > 5 && resolved > 0 && new Set(counts.slice(-5)).size === 1, {
        timeout: 10_000,
      })
      .toBe(true);
    expect(resolved).toBeLessThan(500);
  });
});
