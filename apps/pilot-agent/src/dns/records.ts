import { MalformedMessage, skipName } from "./wire-name.js";

/** Bytes of a message's header (RFC 1035 §4.1.1). */
export const HEADER_BYTES = 12;

/** Record types. */
export const TYPE = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, AAAA: 28, SRV: 33, DNAME: 39, OPT: 41 } as const;

/** The place of a record in a message. */
export interface RecordSpan {
  readonly type: number;
  /** Offset of the record. */
  readonly start: number;
  /** Offset of its type, after its name. */
  readonly typeAt: number;
  /** Offset after its data. */
  readonly end: number;
}

/** Bytes of a record between its name and its data. */
const FIXED_BYTES = 10;

/** Names in the data of a record type: bytes before them, and their number. */
const NAMES: ReadonlyMap<number, readonly [before: number, count: number]> = new Map([
  [TYPE.NS, [0, 1]],
  [TYPE.CNAME, [0, 1]],
  [TYPE.PTR, [0, 1]],
  [TYPE.DNAME, [0, 1]],
  [TYPE.SOA, [0, 2]],
  [TYPE.MX, [2, 1]],
  [TYPE.SRV, [6, 1]],
]);

/** Lengths of the data of address records. */
const LENGTHS: ReadonlyMap<number, number> = new Map([
  [TYPE.A, 4],
  [TYPE.AAAA, 16],
]);

/**
 * Reads the place of a record, and checks its names and addresses.
 *
 * @throws MalformedMessage
 */
export function readRecord(message: Buffer, start: number): RecordSpan {
  const typeAt = skipName(message, start);
  if (typeAt + FIXED_BYTES > message.length) throw new MalformedMessage("message ends within a record");
  const type = message.readUInt16BE(typeAt);
  const data = typeAt + FIXED_BYTES;
  const end = data + message.readUInt16BE(typeAt + 8);
  if (end > message.length) throw new MalformedMessage("record exceeds the message");
  const length = LENGTHS.get(type);
  if (length !== undefined && end - data !== length) throw new MalformedMessage("address of the wrong length");
  const [before, count] = NAMES.get(type) ?? [0, 0];
  let offset = data + before;
  for (let name = 0; name < count; name++) offset = skipName(message, offset);
  if (offset > end) throw new MalformedMessage("name exceeds its record");
  return { type, start, typeAt, end };
}
