import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Attack } from "../../attack.js";
import type { AttackedAgent } from "../../target/agent-target.js";
import { dnsQuery } from "../../target/dns-query.js";
import { scaled } from "../scaled.js";

type AgentAttack = Attack<AttackedAgent>;

/** Datagrams that are sent before the next turn. */
const burst = 50;

/** Sends datagrams as fast as the system takes them, and returns the number of responses. */
async function sendDatagrams(
  { dnsPort, attackerAddress }: AttackedAgent,
  count: number,
  datagram: (n: number) => Buffer,
): Promise<number> {
  const socket = createSocket("udp4");
  let responses = 0;
  socket.on("error", () => undefined).on("message", () => responses++);
  socket.bind(0, attackerAddress);
  await once(socket, "listening");
  for (let n = 0; n < count; n++) {
    const sent = new Promise<void>((resolve) => socket.send(datagram(n), dnsPort, "127.0.0.1", () => resolve()));
    if (n % burst === 0) await sent;
  }
  await wait(1000);
  socket.close();
  return responses;
}

const unknownNames: AgentAttack = {
  name: "agent-dns-flood",
  description: "50,000 DNS queries for names that the upstream name server never answers",
  async run(target, scale) {
    const count = scaled(50_000, scale);
    const responses = await sendDatagrams(target, count, (n) => dnsQuery(n, `n${n}.elsewhere.example`));
    return `${count} queries, ${responses} responses`;
  },
};

/** An OPT record with an owner, a size and a version. */
function optRecord(size: number, version: number, owner: Buffer = Buffer.of(0)): Buffer {
  return Buffer.concat([owner, Buffer.of(0, 41, size >> 8, size & 255, 0, version, 0, 0, 0, 0)]);
}

const malformedQueries: readonly Buffer[] = [
  Buffer.alloc(11),
  Buffer.alloc(12),
  Buffer.alloc(4096, 0xff),
  Buffer.concat([dnsQuery(1, "a").subarray(0, 12), Buffer.of(0xc0, 12, 0, 1, 0, 1)]),
  Buffer.concat([dnsQuery(1, "a").subarray(0, 12), Buffer.alloc(300, 63)]),
  dnsQuery(1, "x.example", [optRecord(65_535, 0)]),
  dnsQuery(1, "x.example", [optRecord(0, 255)]),
  dnsQuery(1, "x.example", [optRecord(4096, 0), optRecord(4096, 0)]),
  dnsQuery(1, "x.example", [optRecord(4096, 0, Buffer.of(1, 97, 0))]),
  dnsQuery(1, "x.example").fill(0xff, 4, 12),
  dnsQuery(1, "\n\0..\u001b[2J.example"),
];

const malformed: AgentAttack = {
  name: "agent-dns-malformed",
  description: "100,000 malformed DNS messages and unusual EDNS records",
  async run(target, scale) {
    const count = scaled(100_000, scale);
    const responses = await sendDatagrams(
      target,
      count,
      (n) => malformedQueries[n % malformedQueries.length] ?? Buffer.alloc(0),
    );
    return `${count} datagrams, ${responses} responses`;
  },
};

const portZeroScript = `
import socket, struct, sys
source, port, count, query = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), bytes.fromhex(sys.argv[4])
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
s.bind((source, 0))
for n in range(count):
    s.sendto(struct.pack("!HHHH", 0, port, 8 + len(query), 0) + query, ("127.0.0.1", 0))
`;

const portZero: AgentAttack = {
  name: "agent-dns-port-zero",
  description: "20,000 DNS queries from UDP port 0, by a raw socket",
  async run({ dnsPort, attackerAddress }, scale) {
    const count = scaled(20_000, scale);
    const query = dnsQuery(1, "x.example").toString("hex");
    const script = ["-c", portZeroScript, attackerAddress, String(dnsPort), String(count), query];
    const child = spawn("python3", script, { stdio: "ignore", timeout: 30_000 });
    const code = await new Promise((resolve) => child.once("close", resolve).once("error", () => resolve(undefined)));
    await wait(1000);
    return code === 0 ? `${count} queries` : "nothing: there is no python3 with permission for raw sockets";
  },
};

const slowloris: AgentAttack = {
  name: "agent-dns-slowloris",
  description: "1,000 TCP connections to the DNS server send a byte of a query at a time",
  async run({ dnsPort, attackerAddress }, scale) {
    const count = scaled(1000, scale);
    const sockets: Socket[] = [];
    let closed = 0;
    for (let n = 0; n < count; n++) {
      const socket = connect({ host: "127.0.0.1", port: dnsPort, localAddress: attackerAddress });
      sockets.push(socket.on("error", () => undefined).once("close", () => closed++));
      if (n % burst === 0) await wait(10);
    }
    for (let round = 0; round < 12; round++) {
      for (const socket of sockets) if (socket.writable) socket.write(Buffer.of(0));
      await wait(1000);
    }
    const ended = closed;
    for (const socket of sockets) socket.destroy();
    return `${count} connections; closed by the agent: ${ended}`;
  },
};

/** Attacks on the agent's DNS server. */
export const dnsAttacks: readonly AgentAttack[] = [unknownNames, malformed, portZero, slowloris];
