import { createSocket } from "node:dgram";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { systemClock } from "@istiod/runtime";
import { decode, encode, type Packet, streamDecode, streamEncode } from "dns-packet";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DnsServer, type DnsServerOptions } from "../src/dns/dns-server.js";
import { DnsService } from "../src/dns/dns-service.js";
import { decodeQuery } from "../src/dns/query.js";
import { NameLookup } from "../src/dns/name-table.js";
import { parseResolvConf } from "../src/dns/resolv-conf.js";
import { exchangeTcp, exchangeUdp, type UpstreamServer } from "../src/dns/exchange.js";
import { readOptions } from "../src/options/read-options.js";
import { readProxy } from "../src/proxy.js";
import { agentMetrics } from "../src/status/metrics.js";
import { freePort, put, scratch } from "./fakes.js";
import { listenOnBoth } from "./name-server.js";
import { recordingLog } from "./recording-log.js";

const scope = {
  namespace: "shop",
  domain: "shop.svc.cluster.local",
  search: ["shop.svc.cluster.local", "svc.cluster.local"],
};
const table = create(NameTableSchema, {
  table: {
    "cart.shop.svc.cluster.local": {
      ips: ["10.0.0.1", "fd00::1"],
      registry: "Kubernetes",
      shortname: "cart",
      namespace: "shop",
    },
    "pay.bank.svc.cluster.local": { ips: ["10.0.0.2"], registry: "Kubernetes", shortname: "pay", namespace: "bank" },
    "api.example.com": { ips: ["240.240.0.1"], registry: "External" },
    "*.wild.example.com": { ips: ["240.240.0.2"], registry: "External" },
    "*.deep.wild.example.com": { ips: ["240.240.0.3"], registry: "External" },
    "many.example.com": { ips: Array.from({ length: 100 }, (_, n) => `10.1.0.${n}`), registry: "External" },
    "nothing.example.com": { ips: ["10.0.0.0/8"], registry: "External" },
  },
});

const isResponse = (): boolean => true;

/** Starts a name server that resolves one name, or never responds. */
async function nameServer(answers: boolean): Promise<UpstreamServer & { asked: string[] }> {
  const asked: string[] = [];
  const respond = (message: Buffer): Buffer | undefined => {
    const query = decode(message);
    asked.push(query.questions![0]!.name);
    if (!answers) return undefined;
    return encode({
      type: "response",
      id: query.id!,
      questions: query.questions!,
      answers: [{ type: "A", name: query.questions![0]!.name, ttl: 5, data: "192.0.2.9" }],
    });
  };
  const port = await listenOnBoth(
    (message, reply) => {
      const answer = respond(message);
      if (answer) reply(answer);
    },
    (socket) =>
      socket
        .on("error", () => undefined)
        .on("data", (bytes) => {
          const answer = respond(bytes.subarray(2));
          if (answer) socket.write(Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 255]), answer]));
        }),
  );
  return { address: "127.0.0.1", port, asked };
}

async function serve(
  more: Partial<DnsServerOptions["forwarding"]> = {},
  names: NameLookup | undefined = new NameLookup(table, scope),
) {
  const server = new DnsServer({
    addresses: ["127.0.0.1"],
    port: 0,
    forwarding: { servers: [], timeout: 200, parallel: false, ...more },
  });
  await server.start();
  if (names) server.update(names);
  afterAll(() => server.close());
  const at = { address: "127.0.0.1", port: server.ports[0]! };
  const packet = (name: string, type: "A" | "AAAA" | "MX", udpSize?: number): Packet => ({
    type: "query",
    id: Math.floor(Math.random() * 65536),
    flags: 0x0100,
    questions: [{ type, name }],
    additionals:
      udpSize === undefined
        ? []
        : [
            {
              type: "OPT",
              name: ".",
              udpPayloadSize: udpSize,
              extendedRcode: 0,
              ednsVersion: 0,
              flags: 0,
              flag_do: false,
              options: [],
            },
          ],
  });
  const udp = async (name: string, type: "A" | "AAAA" | "MX" = "A", udpSize?: number) =>
    decode(await exchangeUdp({ server: at, message: encode(packet(name, type, udpSize)), timeout: 2000, isResponse }));
  const tcp = async (name: string, type: "A" | "AAAA" | "MX" = "A") =>
    decode(await exchangeTcp({ server: at, message: encode(packet(name, type)), timeout: 2000, isResponse }));
  return { server, at, udp, tcp };
}

const addresses = (packet: ReturnType<typeof decode>): unknown[] =>
  (packet.answers ?? []).map((answer) => [answer.type, answer.name, "data" in answer ? answer.data : undefined]);
const code = (packet: ReturnType<typeof decode>): number => packet.flags! & 15;

describe("the DNS server", () => {
  let mesh: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    mesh = await serve();
  });

  it("resolves services authoritatively over UDP and TCP", async () => {
    for (const ask of [mesh.udp, mesh.tcp]) {
      const answer = await ask("cart.shop.svc.cluster.local");
      expect(addresses(answer)).toEqual([["A", "cart.shop.svc.cluster.local", "10.0.0.1"]]);
      expect(answer).toMatchObject({ flag_aa: true, flag_qr: true, flag_rd: true, flag_tc: false });
      expect(code(answer)).toBe(0);
      expect(answer.answers![0]).toMatchObject({ ttl: 30 });
      expect(addresses(await ask("cart.shop.svc.cluster.local", "AAAA"))).toEqual([
        ["AAAA", "cart.shop.svc.cluster.local", "fd00::1"],
      ]);
    }
  });

  it.each([
    ["cart", "10.0.0.1"],
    ["cart.shop", "10.0.0.1"],
    ["cart.shop.svc", "10.0.0.1"],
    ["CART.Shop.svc.cluster.LOCAL", "10.0.0.1"],
    ["pay.bank", "10.0.0.2"],
    ["api.example.com", "240.240.0.1"],
    ["x.wild.example.com", "240.240.0.2"],
    ["x.y.wild.example.com", "240.240.0.2"],
    ["x.deep.wild.example.com", "240.240.0.3"],
  ])("resolves %s", async (name, address) => {
    expect(addresses(await mesh.udp(name))).toEqual([["A", name, address]]);
  });

  it("responds with a CNAME to a name with the first search domain", async () => {
    expect(addresses(await mesh.udp("api.example.com.shop.svc.cluster.local"))).toEqual([
      ["CNAME", "api.example.com.shop.svc.cluster.local", "api.example.com"],
      ["A", "api.example.com", "240.240.0.1"],
    ]);
    expect(addresses(await mesh.udp("a.wild.example.com.shop.svc.cluster.local"))).toEqual([
      ["CNAME", "a.wild.example.com.shop.svc.cluster.local", "a.wild.example.com"],
      ["A", "a.wild.example.com", "240.240.0.2"],
    ]);
    expect(addresses(await mesh.udp("pay.bank.shop.svc.cluster.local"))).toEqual([
      ["CNAME", "pay.bank.shop.svc.cluster.local", "pay.bank"],
      ["A", "pay.bank", "10.0.0.2"],
    ]);
  });

  it("responds without records for a known name of the other IP family", async () => {
    const answer = await mesh.udp("api.example.com", "AAAA");
    expect([code(answer), answer.answers]).toEqual([0, []]);
  });

  it("truncates large UDP responses", async () => {
    const short = await mesh.udp("many.example.com");
    expect(short.flag_tc).toBe(true);
    expect(short.answers!.length).toBe(29);
    expect((await mesh.udp("many.example.com", "A", 1232)).answers!.length).toBe(74);
    const whole = await mesh.tcp("many.example.com");
    expect(whole.flag_tc).toBe(false);
    expect(new Set(addresses(whole).map((one) => (one as string[])[2])).size).toBe(100);
  });

  it("shuffles addresses", async () => {
    const orders = await Promise.all(
      Array.from({ length: 5 }, async () => JSON.stringify(addresses(await mesh.tcp("many.example.com")))),
    );
    expect(new Set(orders).size).toBeGreaterThan(1);
  });

  it("forwards other names and types, and returns the response unchanged", async () => {
    const upstream = await nameServer(true);
    const { udp, tcp } = await serve({ servers: [upstream] });
    expect(addresses(await udp("elsewhere.example"))).toEqual([["A", "elsewhere.example", "192.0.2.9"]]);
    expect(addresses(await tcp("elsewhere.example"))).toEqual([["A", "elsewhere.example", "192.0.2.9"]]);
    await udp("cart.shop", "MX");
    await udp("nothing.example.com");
    await udp("pay");
    expect(upstream.asked).toEqual([
      "elsewhere.example",
      "elsewhere.example",
      "cart.shop",
      "nothing.example.com",
      "pay",
    ]);
  });

  it.each([false, true])(
    "asks the next name server when one is silent (at once: %s), and says so when all are",
    async (parallel) => {
      const [silent, good] = [await nameServer(false), await nameServer(true)];
      const two = await serve({ servers: [silent, good], parallel });
      expect(addresses(await two.udp("a.example"))).toHaveLength(1);
      const none = await serve({ servers: [silent], parallel });
      expect(code(await none.udp("a.example"))).toBe(2);
      expect(code(await (await serve({ parallel })).udp("a.example"))).toBe(2);
    },
  );

  it("responds with SERVFAIL until istiod has sent the name table", async () => {
    const early = await serve({}, undefined);
    early.server.update(new NameLookup(table, scope));
    const server = new DnsServer({
      addresses: ["127.0.0.1"],
      port: 0,
      forwarding: { servers: [], timeout: 100, parallel: false },
    });
    await server.start();
    const answer = decode(
      await exchangeUdp({
        server: { address: "127.0.0.1", port: server.ports[0]! },
        message: encode({ type: "query", id: 7, questions: [{ type: "A", name: "cart.shop" }] }),
        timeout: 1000,
        isResponse,
      }),
    );
    expect(code(answer)).toBe(2);
    await server.close();
  });

  it("accepts several queries on a connection", async () => {
    const { connect } = await import("node:net");
    const socket = connect(mesh.at.port, mesh.at.address);
    const received: Buffer[] = [];
    socket.on("data", (bytes: Buffer) => received.push(bytes));
    const questions = Buffer.concat(
      [1, 2].map((id) => streamEncode({ type: "query", id, questions: [{ type: "A", name: "cart" }] })),
    );
    socket.write(questions.subarray(0, 5));
    socket.write(questions.subarray(5));
    await expect.poll(() => Buffer.concat(received).length).toBeGreaterThan(60);
    expect(streamDecode(Buffer.concat(received)).answers).toHaveLength(1);
    socket.destroy();
  });

  it("accepts any bytes without failing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), async (bytes) => {
        expect(() => decodeQuery(Buffer.from(bytes))).not.toThrow();
        const socket = createSocket("udp4");
        await new Promise<void>((resolve) => socket.send(bytes, mesh.at.port, mesh.at.address, () => resolve()));
        socket.close();
      }),
      { numRuns: 200 },
    );
    expect(addresses(await mesh.udp("cart"))).toHaveLength(1);
  });
});

it("reads resolv.conf", () => {
  const text =
    "# comment\nnameserver 10.0.0.10\nnameserver fe80::1%eth0\nnameserver 127.0.0.1:5353 ; local\nsearch Shop.svc.cluster.local. svc.cluster.local\noptions ndots:5\n";
  expect(parseResolvConf(text)).toEqual({
    servers: [
      { address: "10.0.0.10", port: 53 },
      { address: "fe80::1%eth0", port: 53 },
      { address: "127.0.0.1", port: 5353 },
    ],
    search: ["shop.svc.cluster.local", "svc.cluster.local"],
  });
});

describe("the agent's DNS server", () => {
  /** Starts the service of a workload with these addresses and returns its answers by the address that is asked. */
  async function answers(addresses: readonly string[], DNS_PROXY_ADDR: string, nameserver: string) {
    const port = await freePort();
    const resolvConf = join(await scratch(), "resolv.conf");
    await put(resolvConf, `nameserver ${nameserver}\n`);
    const env = { POD_NAMESPACE: "shop", DNS_PROXY_ADDR: DNS_PROXY_ADDR.replace("PORT", String(port)) };
    const options = { ...readOptions({}, env), resolvConf };
    const proxy = { ...(await readProxy("sidecar", options, recordingLog().log)), addresses };
    const service = new DnsService({
      options,
      proxy,
      metrics: agentMetrics(),
      log: recordingLog().log,
      clock: systemClock,
    });
    await service.start();
    afterAll(() => service.close());
    const message = encode({ type: "query", id: 1, questions: [{ type: "A", name: "localhost" }] });
    const ask = async (address: string): Promise<boolean> => {
      const call = { server: { address, port }, message, timeout: 1000, isResponse };
      return exchangeUdp(call).then(
        () => true,
        () => false,
      );
    };
    return { "127.0.0.1": await ask("127.0.0.1"), "::1": await ask("::1") };
  }

  it.each([
    [["10.1.0.1"], "localhost:PORT", "10.96.0.10", { "127.0.0.1": true, "::1": false }],
    [["10.1.0.1"], "localhost:PORT", "fd00::a", { "127.0.0.1": true, "::1": true }],
    [["fd00::1"], "localhost:PORT", "fd00::a", { "127.0.0.1": true, "::1": true }],
    [["fd00::1"], "localhost:PORT", "169.254.20.10", { "127.0.0.1": true, "::1": true }],
    [["fd00::1"], ":PORT", "169.254.20.10", { "127.0.0.1": true, "::1": true }],
    [["10.1.0.1"], ":PORT", "10.96.0.10", { "127.0.0.1": true, "::1": false }],
  ])("of a workload at %j listens at %s with the name server %s", async (addresses, listen, nameserver, expected) => {
    expect(await answers(addresses, listen, nameserver)).toEqual(expected);
  });
});
