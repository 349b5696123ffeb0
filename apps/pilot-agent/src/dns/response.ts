import { isIPv4 } from "node:net";
import { CLASS_IN, CODE, MAX_UDP_BYTES, MIN_UDP_BYTES, type Query } from "./query.js";
import { HEADER_BYTES, readRecord, type RecordSpan, TYPE } from "./records.js";
import { encodeName, ifWellFormed, MalformedMessage } from "./wire-name.js";

export type Protocol = "udp" | "tcp";

const MAX_TCP_BYTES = 65_535;
/** Compression pointer to the question's name (RFC 1035 §4.1.4). */
const QUESTION_NAME = 0xc000 | HEADER_BYTES;
/** Bytes of an OPT record without options. */
const OPT_BYTES = 11;
/** Short, so that clients with a cache observe changes soon. */
const TTL_SECONDS = 30;
/** Header bits of a response: QR, AA, TC, RA; those copied from the query: opcode, RD and CD. */
const BITS = { response: 0x8000, authoritative: 0x0400, truncated: 0x0200, recursion: 0x0080, copied: 0x7910 };

/** Returns the maximum size in bytes of the response to a query. */
export function responseLimit({ edns }: Query, protocol: Protocol): number {
  return protocol === "tcp" ? MAX_TCP_BYTES : (edns?.udpSize ?? MIN_UDP_BYTES);
}

/** Encodes the header of a response to a message that is not a well-formed query. */
export function rejection(message: Buffer, code: number): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt16BE(message.readUInt16BE(0), 0);
  head.writeUInt16BE(BITS.response | (message.readUInt16BE(2) & BITS.copied) | code, 2);
  return head;
}

/** Encodes a response without records. It is at most as large as the query. */
export function emptyResponse(query: Query, code: number): Buffer {
  return encodeResponse(query, [], { code });
}

/**
 * Encodes an authoritative response with a CNAME record, if `canonical` is given, and address records. A response
 * longer than `limit` bytes is truncated and has the TC bit. Records beyond the limit are not encoded.
 */
export function addressResponse(
  query: Query,
  canonical: string | undefined,
  addresses: readonly string[],
  limit: number,
): Buffer {
  const records: Buffer[] = [];
  let owner = QUESTION_NAME;
  let left = limit - query.head.length - (query.edns ? OPT_BYTES : 0);
  let isTruncated = false;
  const add = (record: Buffer): void => {
    left -= record.length;
    if (left < 0) isTruncated = true;
    else records.push(record);
  };
  const target = canonical === undefined || addresses.length === 0 ? undefined : encodeName(canonical);
  if (target) {
    add(encodeRecord(owner, TYPE.CNAME, target));
    owner = 0xc000 | (query.head.length + 12);
  }
  for (const address of addresses) {
    if (isTruncated) break;
    add(encodeRecord(owner, isIPv4(address) ? TYPE.A : TYPE.AAAA, addressBytes(address)));
  }
  return encodeResponse(query, records, { code: CODE.noError, isAuthoritative: true, isTruncated });
}

/**
 * Returns an upstream server's response with the query's ID, truncated to `limit` bytes at the end of a record. The OPT
 * record of a truncated response is replaced by the agent's.
 *
 * @returns `undefined` for a malformed response
 */
export function forwardedResponse(query: Query, response: Buffer, limit: number): Buffer | undefined {
  const records = ifWellFormed(() => readRecords(query, response));
  const isTruncated = (response.readUInt16BE(2) & BITS.truncated) !== 0;
  if (records === undefined && !isTruncated) return undefined;
  if (records !== undefined && response.length <= limit) {
    const copy = Buffer.from(response);
    copy.writeUInt16BE(query.id, 0);
    return copy;
  }
  const flags = response.readUInt16BE(2);
  const answers = records?.slice(0, response.readUInt16BE(6)) ?? [];
  const room = limit - (query.edns ? OPT_BYTES : 0);
  const kept = answers.filter(({ end }) => end <= room);
  return encodeResponse(
    query,
    kept.map(({ start, end }) => response.subarray(start, end)),
    { code: flags & 0x000f, isAuthoritative: (flags & BITS.authoritative) !== 0, isTruncated: true },
  );
}

/** Reads the records of a response to a query, whose question {@link answers} has compared. */
function readRecords(query: Query, response: Buffer): RecordSpan[] {
  const count = [6, 8, 10].reduce((sum, at) => sum + response.readUInt16BE(at), 0);
  const hasQuestion = response.readUInt16BE(4) === 1;
  const records: RecordSpan[] = [];
  for (let n = 0; n < count; n++)
    records.push(readRecord(response, records.at(-1)?.end ?? (hasQuestion ? query.head.length : HEADER_BYTES)));
  if (!hasQuestion && count > 0) throw new MalformedMessage("records without a question");
  return records;
}

/**
 * Reports whether a message responds to a query: the ID, the opcode and the question are those of the query (RFC 5452
 * §9.1). Some servers leave out the question of a query that they reject.
 *
 * @param id the ID that the query was forwarded with
 */
export function answers(query: Query, id: number, message: Buffer): boolean {
  if (message.length < HEADER_BYTES || message.readUInt16BE(0) !== id) return false;
  const flags = message.readUInt16BE(2);
  if ((flags & 0xf800) !== BITS.response) return false;
  const questions = message.readUInt16BE(4);
  if (questions === 0) return (flags & 0x000f) !== 0 && message.readUInt32BE(6) === 0;
  const { head } = query;
  return (
    questions === 1 && message.length >= head.length && equalIgnoringCase(message, head, HEADER_BYTES, head.length - 4)
  );
}

/** Compares names in ASCII letters of any case, and then the type and class exactly. */
function equalIgnoringCase(message: Buffer, head: Buffer, start: number, nameEnd: number): boolean {
  for (let at = start; at < nameEnd; at++) if (lower(message[at] ?? 0) !== lower(head[at] ?? 0)) return false;
  return message.compare(head, nameEnd, head.length, nameEnd, head.length) === 0;
}

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}

interface ResponseFields {
  /** Codes above 15 need an OPT record. */
  readonly code: number;
  readonly isAuthoritative?: boolean;
  readonly isTruncated?: boolean;
}

function encodeResponse(
  query: Query,
  records: readonly Buffer[],
  { code, isAuthoritative = false, isTruncated = false }: ResponseFields,
): Buffer {
  const head = Buffer.from(query.head);
  head.writeUInt16BE(
    BITS.response |
      (isAuthoritative ? BITS.authoritative : 0) |
      (isTruncated ? BITS.truncated : 0) |
      (head.readUInt16BE(2) & BITS.copied) |
      BITS.recursion |
      (code & 0x0f),
    2,
  );
  head.writeUInt16BE(records.length, 6);
  head.writeUInt16BE(0, 8);
  head.writeUInt16BE(query.edns ? 1 : 0, 10);
  return Buffer.concat([head, ...records, ...(query.edns ? [encodeOptions(code, query.edns.isDnssecOk)] : [])]);
}

function encodeOptions(code: number, isDnssecOk: boolean): Buffer {
  const options = Buffer.alloc(OPT_BYTES);
  options.writeUInt16BE(TYPE.OPT, 1);
  options.writeUInt16BE(MAX_UDP_BYTES, 3);
  options.writeUInt8(code >> 4, 5);
  options.writeUInt16BE(isDnssecOk ? 0x8000 : 0, 7);
  return options;
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
