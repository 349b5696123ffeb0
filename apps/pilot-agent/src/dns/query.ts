import { HEADER_BYTES, readRecord, type RecordSpan, TYPE } from "./records.js";
import { ifWellFormed, MalformedMessage, readName } from "./wire-name.js";

/** A query's extension mechanisms (RFC 6891). */
export interface Edns {
  readonly version: number;
  /** Maximum size of a UDP response that the client accepts, between 512 and {@link MAX_UDP_BYTES}. */
  readonly udpSize: number;
  /** The client accepts DNSSEC records (the DO bit). */
  readonly isDnssecOk: boolean;
  /** Offset of the OPT record's payload size. */
  readonly sizeAt: number;
}

/** A well-formed query with one question. */
export interface Query {
  readonly id: number;
  /** Presentation form, without the final dot. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly edns: Edns | undefined;
  /** The message without bytes after its last record. */
  readonly message: Buffer;
  /** The header and the question, which the response repeats. */
  readonly head: Buffer;
}

/** A received message: a query, a response code for one that cannot be served, or nothing to respond to. */
export type Received =
  | { readonly kind: "query"; readonly query: Query }
  | { readonly kind: "rejected"; readonly code: number; readonly message: Buffer }
  | { readonly kind: "ignored" };

/** Response codes (RFC 1035 §4.1.1, RFC 6891 §9). */
export const CODE = { noError: 0, formatError: 1, serverFailure: 2, notImplemented: 4, refused: 5, badVersion: 16 };

export const CLASS_IN = 1;
/** Default and minimum size of UDP messages without EDNS, and for smaller sizes in EDNS (RFC 6891 §6.2.3). */
export const MIN_UDP_BYTES = 512;
/** Maximum size of UDP messages, which bounds amplification and fragmentation (RFC 6891 §6.2.5). */
export const MAX_UDP_BYTES = 4096;

const RESPONSE = 0x8000;
const OPCODE = 0x7800;
const DNSSEC_OK = 0x8000;
/** Counts of records that a query may have: a NOTIFY's or an update's answer, a SOA, OPT and TSIG. */
const MAX_RECORDS = { answers: 1, authorities: 1, additionals: 2 };

/**
 * Decodes a message. Responses and fragments of a header are ignored, because responding to them could loop or amplify.
 * Malformed queries are rejected with FORMERR, other operations than a query with NOTIMP.
 */
export function decodeQuery(message: Buffer): Received {
  if (message.length < HEADER_BYTES || (message.readUInt16BE(2) & RESPONSE) !== 0) return { kind: "ignored" };
  if ((message.readUInt16BE(2) & OPCODE) !== 0) return { kind: "rejected", code: CODE.notImplemented, message };
  const query = ifWellFormed(() => parseQuery(message));
  return query ? { kind: "query", query } : { kind: "rejected", code: CODE.formatError, message };
}

function parseQuery(message: Buffer): Query {
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at)) as [
    number,
    number,
    number,
    number,
  ];
  if (questions !== 1) throw new MalformedMessage(`${questions} questions`);
  if (answers > MAX_RECORDS.answers || authorities > MAX_RECORDS.authorities || additionals > MAX_RECORDS.additionals)
    throw new MalformedMessage("too many records");
  const { name, end } = readName(message, HEADER_BYTES);
  if (end + 4 > message.length) throw new MalformedMessage("message ends within the question");
  const records: RecordSpan[] = [];
  for (let n = 0; n < answers + authorities + additionals; n++)
    records.push(readRecord(message, records.at(-1)?.end ?? end + 4));
  const options = records.filter(({ type }) => type === TYPE.OPT);
  if (options.length > 1) throw new MalformedMessage("several OPT records");
  return {
    id: message.readUInt16BE(0),
    name,
    type: message.readUInt16BE(end),
    class: message.readUInt16BE(end + 2),
    edns: options[0] && readEdns(message, options[0]),
    message: message.subarray(0, records.at(-1)?.end ?? end + 4),
    head: message.subarray(0, end + 4),
  };
}

function readEdns(message: Buffer, { start, typeAt }: RecordSpan): Edns {
  if (typeAt !== start + 1) throw new MalformedMessage("OPT record with a name");
  const sizeAt = typeAt + 2;
  return {
    version: message.readUInt8(sizeAt + 3),
    udpSize: Math.min(Math.max(message.readUInt16BE(sizeAt), MIN_UDP_BYTES), MAX_UDP_BYTES),
    isDnssecOk: (message.readUInt16BE(sizeAt + 4) & DNSSEC_OK) !== 0,
    sizeAt,
  };
}
