import { create } from "@bufbuild/protobuf";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { decode, encode } from "dns-packet";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { DnsServer } from "../src/dns/dns-server.js";
import { NameLookup } from "../src/dns/name-table.js";
import { listenOnBoth } from "./name-server.js";
import { otherMachine } from "./network-namespace.js";

const machine = otherMachine();
const table = create(NameTableSchema, { table: { "cart.example": { ips: ["10.0.0.1"], registry: "External" } } });

/** Sends a query over UDP or TCP and prints the response in hexadecimal, or nothing if there is none. */
const ASK = `
import { createSocket } from "node:dgram";
import { connect } from "node:net";
const [, protocol, address, port, query] = process.argv;
const message = Buffer.from(query, "hex");
const finish = (response) => process.stdout.write(response.toString("hex"), () => process.exit());
setTimeout(() => process.exit(), 10_000);
if (protocol === "udp") {
  const socket = createSocket("udp4");
  socket.on("message", finish).send(message, Number(port), address);
} else {
  const socket = connect({ host: address, port: Number(port) });
  const received = [];
  socket.on("error", () => process.exit()).on("close", () => process.exit());
  socket.on("data", (bytes) => {
    received.push(bytes);
    const all = Buffer.concat(received);
    if (all.length >= 2 && all.length >= 2 + all.readUInt16BE(0)) finish(all.subarray(2));
  });
  socket.write(Buffer.concat([Buffer.of(message.length >> 8, message.length & 255), message]));
}
`;

describe("a DNS query from another machine", () => {
  beforeEach(({ skip }) => skip(typeof machine === "string", `no network namespace: ${String(machine)}`));

  async function serve(allowRemoteClients: boolean) {
    if (typeof machine === "string") throw new Error(machine);
    const { run, address, localAddress } = machine;
    const forwarded: Buffer[] = [];
    const upstream = await listenOnBoth(
      (message, reply) => {
        forwarded.push(message);
        reply(encode({ ...decode(message), type: "response" }));
      },
      (connection) => connection.on("error", () => undefined).on("data", (bytes: Buffer) => forwarded.push(bytes)),
    );
    const rejected: string[] = [];
    const server = new DnsServer({
      addresses: ["0.0.0.0"],
      port: 0,
      forwarding: { servers: [{ address: "127.0.0.1", port: upstream }], timeout: 500, parallel: false },
      allowRemoteClients,
      events: { rejected: (reason) => rejected.push(reason) },
    });
    await server.start();
    afterAll(() => server.close());
    server.update(new NameLookup(table, { namespace: "shop", domain: "shop.svc.cluster.local", search: [] }));
    const port = String(server.ports[0]);
    const ask = async (protocol: string, name: string, to = localAddress) => {
      const query = encode({ type: "query", id: 7, flags: 0x0100, questions: [{ type: "A", name }] });
      const response = Buffer.from(await run(ASK, [protocol, to, port, query.toString("hex")]), "hex");
      const { rcode, answers } = decode(response) as { rcode?: string; answers?: unknown[] };
      return { rcode, answers: answers?.length, size: response.length - query.length };
    };
    return { ask, forwarded, rejected, address };
  }

  it.each(["udp", "tcp"])(
    "over %s is refused, with no more bytes than it has, and is not forwarded",
    async (protocol) => {
      const { ask, forwarded, rejected } = await serve(false);
      const refused = { rcode: "REFUSED", answers: 0, size: 0 };
      expect(await ask(protocol, "cart.example")).toEqual(refused);
      expect(await ask(protocol, "elsewhere.example")).toEqual(refused);
      expect(rejected).toEqual(["remote_client", "remote_client"]);
      expect(forwarded).toEqual([]);
    },
  );

  it("is resolved and forwarded with DNS_REMOTE_CLIENTS=true", async () => {
    const { ask, forwarded, rejected } = await serve(true);
    expect(await ask("udp", "cart.example")).toMatchObject({ rcode: "NOERROR", answers: 1 });
    expect(await ask("tcp", "cart.example")).toMatchObject({ rcode: "NOERROR", answers: 1 });
    expect(await ask("udp", "elsewhere.example")).toMatchObject({ rcode: "NOERROR", answers: 0 });
    expect(forwarded).toHaveLength(1);
    expect(rejected).toEqual([]);
  });
});
