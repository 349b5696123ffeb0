import { isIPv4 } from "node:net";
import { type DecodedPacket, decode } from "dns-packet";

/** A decoded query. */
export interface Query {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  /** Maximum size of a UDP response that the client accepts, in bytes (EDNS0). Default: 512. */
  readonly udpSize: number;
  /** The message up to the end of its first question, which the response repeats. */
  readonly head: Buffer;
}

const NO_ERROR = 0;
export const SERVER_FAILURE = 2;
export const NOT_IMPLEMENTED = 4;

const HEADER_BYTES = 12;
/** Zero in a standard query. */
const OPCODE = 0x7800;
/** Compression pointer to the question's name (RFC 1035 §4.1.4). */
const QUESTION_NAME = 0xc000 | HEADER_BYTES;
const TYPES: Readonly<Record<string, number>> = { A: 1, CNAME: 5, AAAA: 28 };
const CLASS_IN = 1;
/** Short, so that clients with a cache observe changes soon. */
const TTL_SECONDS = 30;

/** Decodes a query; `undefined` for a response, an unsupported opcode or class, or a malformed message. */
export function decodeQuery(message: Buffer): Query | undefined {
  let packet: DecodedPacket;
  try {
    packet = decode(message);
  } catch {
    return undefined;
  }
  const [question] = packet.questions ?? [];
  if (
    packet.type !== "query" ||
    packet.id === undefined ||
    (message.readUInt16BE(2) & OPCODE) !== 0 ||
    !question ||
    question.class !== "IN"
  )
    return undefined;
  const options = packet.additionals?.find(({ type }) => type === "OPT");
  const size = options && "udpPayloadSize" in options ? options.udpPayloadSize : 0;
  const head = message.subarray(0, endOfName(message) + 4);
  return { id: packet.id, name: question.name, type: question.type, udpSize: Math.max(size, 512), head };
}

/** Encodes a response without records. @param code the response code (RFC 1035 §4.1.1) */
export function emptyResponse(query: Query, code: number, authoritative = false): Buffer {
  return encodeResponse(query, [], code, authoritative);
}

/**
 * Encodes a response with a CNAME record, if `canonical` is given, and address records. A response longer than `limit`
 * bytes is truncated and has the TC bit.
 */
export function addressResponse(
  query: Query,
  canonical: string | undefined,
  addresses: readonly string[],
  limit: number,
): Buffer {
  const records: Buffer[] = [];
  let owner = QUESTION_NAME;
  if (canonical !== undefined && addresses.length > 0) {
    const target = encodeName(canonical);
    records.push(encodeRecord(owner, TYPES["CNAME"] ?? 5, target));
    owner = 0xc000 | (query.head.length + 12);
  }
  for (const address of addresses)
    records.push(
      encodeRecord(owner, isIPv4(address) ? (TYPES["A"] ?? 1) : (TYPES["AAAA"] ?? 28), addressBytes(address)),
    );
  const kept: Buffer[] = [];
  let size = query.head.length;
  for (const record of records) {
    size += record.length;
    if (size > limit) break;
    kept.push(record);
  }
  return encodeResponse(query, kept, NO_ERROR, true, kept.length < records.length);
}

function encodeResponse(
  query: Query,
  records: readonly Buffer[],
  code: number,
  authoritative: boolean,
  truncated = false,
): Buffer {
  const head = Buffer.from(query.head);
  const recursionDesired = head.readUInt16BE(2) & 0x0100;
  head.writeUInt16BE(
    0x8000 | (authoritative ? 0x0400 : 0) | (truncated ? 0x0200 : 0) | recursionDesired | 0x0080 | code,
    2,
  );
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...records]);
}

function encodeRecord(owner: number, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(owner, 0);
  fixed.writeUInt16BE(type, 2);
  fixed.writeUInt16BE(CLASS_IN, 4);
  fixed.writeUInt32BE(TTL_SECONDS, 6);
  fixed.writeUInt16BE(data.length, 10);
  return Buffer.concat([fixed, data]);
}

/** Returns the offset after the first question's name, which cannot be compressed. */
function endOfName(message: Buffer): number {
  let offset = HEADER_BYTES;
  for (let length = message[offset] ?? 0; length > 0 && length < 64; length = message[offset] ?? 0)
    offset += 1 + length;
  return offset + 1;
}

function encodeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.from(label));
  return Buffer.concat([...labels.flatMap((label) => [Buffer.from([label.length]), label]), Buffer.from([0])]);
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const text = dotted ? `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}` : address;
  const [front = "", back] = text.split("::");
  const groups = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const [before, after] = [groups(front), groups(back ?? "")];
  const all =
    back === undefined ? before : [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
  const bytes = Buffer.alloc(16);
  for (const [index, group] of all.entries()) bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2);
  return bytes;
}

function hex(high: string | undefined, low: string | undefined): string {
  return (Number(high) * 256 + Number(low)).toString(16);
}
