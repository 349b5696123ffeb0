import { NameLookup, Resolver } from "@istiod/pilot-agent/dns";
import { create } from "@bufbuild/protobuf";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { decode, encode, type Packet } from "dns-packet";
import type { Target } from "../target.js";

const ips = Array.from({ length: 400 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
const table = create(NameTableSchema, {
  table: {
    "a.example": { ips: ["10.0.0.1", "fd00::1"], registry: "External" },
    "*.b.example": { ips, registry: "External" },
  },
});
const scope = { namespace: "n", domain: "n.svc.cluster.local", search: ["n.svc.cluster.local"] };

const resolver = new Resolver({
  forwarding: { servers: [], timeout: 1, parallel: false },
  isAllowed: () => true,
  events: {},
});
resolver.update(new NameLookup(table, scope));

function query(name: string, type: "A" | "AAAA" | "TXT", udpPayloadSize?: number): Uint8Array {
  const options: Packet["additionals"] =
    udpPayloadSize === undefined
      ? []
      : [
          {
            type: "OPT",
            name: ".",
            udpPayloadSize,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: true,
            options: [],
          },
        ];
  return encode({ type: "query", id: 1, flags: 0x0100, questions: [{ type, name }], additionals: options });
}

/** DNS queries, whose responses an independent decoder reads. */
export const dnsMessages: Target = {
  name: "dns-messages",
  description: "the agent's DNS server",
  seeds: [
    query("a.example", "A"),
    query("a.example", "AAAA", 1232),
    query("x.b.example.n.svc.cluster.local", "A", 65_535),
    query("x.b.example", "A", 512),
    query("elsewhere.example", "TXT"),
  ],
  dictionary: [Buffer.of(0xc0, 0x0c), Buffer.of(0, 41), Buffer.of(63), Buffer.from("\x01b\x07example\0")],
  async run(input) {
    const message = Buffer.from(input);
    for (const protocol of ["udp", "tcp"] as const) {
      const response = await resolver.resolve(message, protocol, "127.0.0.1");
      if (response) check(message, response, protocol === "udp" ? 4096 : 65_535);
    }
  },
};

function check(message: Buffer, response: Buffer, limit: number): void {
  if (response.length > limit) throw new Error(`response of ${response.length} bytes`);
  if (response.readUInt16BE(0) !== message.readUInt16BE(0)) throw new Error("response with another ID");
  const { type, questions = [], answers = [] } = decode(response);
  if (type !== "response") throw new Error("response is a query");
  const isTable = (response.readUInt16BE(2) & 15) === 0 && answers.length > 0;
  if (isTable && questions.length !== 1) throw new Error("answers without a question");
  if (!isTable && response.length > message.length) throw new Error("larger than the query without an answer");
}
