import { derTags, type DerReader, isConstructed, isUniversal, malformed, numberOf } from "./der.js";

/*
 * Types of X.509, as BoringSSL reads them (crypto/asn1 and crypto/x509). Each function reads one element and throws if
 * it is malformed.
 */

/** Returns the content of an INTEGER, which must be in its shortest form. */
export function readInteger(reader: DerReader, tag: number = derTags.integer): Buffer {
  const content = reader.take(tag);
  return isInteger(content) ? content : malformed();
}

/** Returns the value of an INTEGER that is not negative. */
export function readUnsigned(reader: DerReader): bigint {
  const content = readInteger(reader);
  return (content[0] ?? 0) >= 0x80 ? malformed() : BigInt(`0x${content.toString("hex")}`);
}

/** Returns an OBJECT IDENTIFIER in hexadecimal. */
export function readObjectIdentifier(reader: DerReader, tag: number = derTags.objectIdentifier): string {
  const content = reader.take(tag);
  return isObjectIdentifier(content) ? content.toString("hex") : malformed();
}

/** Returns the octets of a BIT STRING, after that with the number of unused bits. */
export function bitsOf(content: Buffer): Buffer {
  const [unused] = content;
  if (unused === undefined || unused > 7) return malformed();
  const last = content.length > 1 ? content.at(-1) : undefined;
  if (unused > 0 && (last === undefined || (last & (2 ** unused - 1)) !== 0)) malformed();
  return content.subarray(1);
}

/** Returns the octets of a BIT STRING. */
export function readBitString(reader: DerReader, tag: number = derTags.bitString): Buffer {
  return bitsOf(reader.take(tag));
}

/**
 * Returns the time of a UTCTime, which may have an offset from UTC, or of a GeneralizedTime, in milliseconds since the
 * Unix epoch.
 */
export function readTime(reader: DerReader): number {
  if (reader.tag === derTags.utcTime) return utcTime(reader.take(derTags.utcTime));
  return generalizedTime(reader.take(derTags.generalizedTime));
}

function utcTime(content: Buffer): number {
  const text = content.toString("latin1");
  const [, time, sign, hours, minutes] = /^(\d{12})(?:Z|([+-])(\d\d)(\d\d))$/.exec(text) ?? malformed();
  // The years of UTCTime are 1950 to 2049 (RFC 5280, 4.1.2.5.1).
  const utc = timeOf(`${text < "5" ? "20" : "19"}${time}`);
  if (sign === undefined) return utc;
  if (Number(hours) > 23 || Number(minutes) > 59) malformed();
  return utc - Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

function generalizedTime(content: Buffer): number {
  const [, time = ""] = /^(\d{14})Z$/.exec(content.toString("latin1")) ?? malformed();
  return timeOf(time);
}

/** @param digits year, month, day, hour, minute and second */
function timeOf(digits: string): number {
  const [, date, time] = /^(\d{8})(\d{6})$/.exec(digits) ?? malformed();
  const iso = `${date?.replace(/(....)(..)(..)/, "$1-$2-$3")}T${time?.replace(/(..)(..)(..)/, "$1:$2:$3")}.000Z`;
  const value = Date.parse(iso);
  // `Date` takes a day that the month does not have, and 24:00.
  return Number.isNaN(value) || new Date(value).toISOString() !== iso ? malformed() : value;
}

/** Reads an AlgorithmIdentifier. */
export function readAlgorithm(reader: DerReader): void {
  reader.within(derTags.sequence, (fields) => {
    readObjectIdentifier(fields);
    if (!fields.isEmpty) readAny(fields);
  });
}

/** Types that contain elements. All others of ASN.1 do not. */
const constructedTypes: readonly number[] = [8, 11, 16, 17, 29];

/** Reads an element of any type. Returns its content. */
export function readAny(reader: DerReader): Buffer {
  const { tag = 0 } = reader;
  if (isUniversal(tag)) {
    const number = numberOf(tag);
    if (number > 255) malformed();
    const isKnown = number <= 36 && number !== 15;
    if (isKnown && constructedTypes.includes(number) !== isConstructed(tag)) malformed();
  }
  const { content } = reader.any();
  checkContent(tag, content);
  return content;
}

function checkContent(tag: number, content: Buffer): void {
  const checks: Readonly<Record<number, () => boolean>> = {
    [derTags.boolean]: () => content.length === 1 && (content[0] === 0 || content[0] === 0xff),
    [derTags.null]: () => content.length === 0,
    [derTags.bitString]: () => bitsOf(content) !== undefined,
    [derTags.utf8String]: () => isText(content, "utf-8"),
    [derTags.bmpString]: () => content.length % 2 === 0 && isText(content, "utf-16be"),
    [derTags.universalString]: () => content.length % 4 === 0 && isUniversalText(content),
    [derTags.utcTime]: () => utcTime(content) !== undefined,
    [derTags.generalizedTime]: () => generalizedTime(content) !== undefined,
    [derTags.integer]: () => isInteger(content),
    [derTags.enumerated]: () => isInteger(content),
    [derTags.objectIdentifier]: () => isObjectIdentifier(content),
  };
  if (checks[tag]?.() === false) malformed();
}

/** Reports whether the octets are those of an INTEGER in its shortest form. */
function isInteger(content: Buffer): boolean {
  const [first, second = 0] = content;
  if (first === undefined) return false;
  return content.length === 1 || !((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80));
}

function isObjectIdentifier(content: Buffer): boolean {
  const startsWithZero = content.some((octet, at) => octet === 0x80 && (at === 0 || (content[at - 1] ?? 0) < 0x80));
  return !startsWithZero && (content.at(-1) ?? 0x80) < 0x80;
}

function isText(content: Buffer, encoding: "utf-8" | "utf-16be"): boolean {
  const units = encoding === "utf-8" ? content : Buffer.from(content).swap16();
  try {
    const decoder = new TextDecoder(encoding === "utf-8" ? "utf-8" : "utf-16le", { fatal: true, ignoreBOM: true });
    const text = decoder.decode(units);
    const points = [...text].map((character) => character.codePointAt(0) ?? 0);
    // BMPString has no surrogates, not even in pairs.
    return points.every((point) => isCodePoint(point) && (encoding === "utf-8" || point < 0x1_0000));
  } catch {
    return false;
  }
}

function isUniversalText(content: Buffer): boolean {
  for (let at = 0; at < content.length; at += 4) if (!isCodePoint(content.readUInt32BE(at))) return false;
  return true;
}

/** Reports whether a number is a code point of text, which surrogates and noncharacters are not. */
function isCodePoint(value: number): boolean {
  const isNoncharacter = (value & 0xfffe) === 0xfffe || (value >= 0xfdd0 && value <= 0xfdef);
  return value <= 0x10_ffff && !isNoncharacter && !(value >= 0xd800 && value <= 0xdfff);
}

/** Reads a BOOLEAN, whose octet may be any. */
export function readBoolean(reader: DerReader, tag: number = derTags.boolean): boolean {
  const content = reader.take(tag);
  return content.length === 1 ? content[0] !== 0 : malformed();
}
