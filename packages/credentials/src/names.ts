import { readAny, readObjectIdentifier } from "./asn1-values.js";
import { derTags, type DerReader, explicitTag, implicitTag, malformed, numberOf } from "./der.js";

/** A part of a distinguished name. */
export interface NamePart {
  /** The type's object identifier in hexadecimal. */
  readonly type: string;
  readonly value: Buffer;
}

/** Reads a distinguished name. */
export function readName(reader: DerReader): readonly NamePart[] {
  const parts = reader.list(derTags.sequence, (sets) => {
    const set = sets.list(derTags.set, readNamePart);
    return set.length === 0 ? malformed() : set;
  });
  return parts.flat();
}

/** Reads one part of a distinguished name. */
export function readNamePart(reader: DerReader): NamePart {
  return reader.within(derTags.sequence, (fields) => {
    const type = readObjectIdentifier(fields);
    return { type, value: readAny(fields) };
  });
}

/** A GeneralName (RFC 5280, 4.2.1.6). */
export interface GeneralName {
  /** The number of its choice: 2 for a DNS name, 6 for a URI, 7 for an IP address. */
  readonly choice: number;
}

/** Reads a GeneralName. */
export function readGeneralName(reader: DerReader): GeneralName {
  const { tag = 0 } = reader;
  const choice = numberOf(tag);
  const readers: Readonly<Record<number, () => void>> = {
    [explicitTag(0)]: () => reader.within(tag, readOtherName),
    [explicitTag(3)]: () => reader.take(tag),
    [explicitTag(4)]: () => reader.within(tag, readName),
    [explicitTag(5)]: () => reader.within(tag, readPartyName),
    [implicitTag(8)]: () => readObjectIdentifier(reader, tag),
  };
  const plain = [1, 2, 6, 7].map(implicitTag);
  const read = readers[tag] ?? (plain.includes(tag) ? () => reader.take(tag) : malformed);
  read();
  return { choice };
}

function readOtherName(fields: DerReader): void {
  readObjectIdentifier(fields);
  fields.within(explicitTag(0), readAny);
}

/** Types of a DirectoryString, as bits of BoringSSL's `B_ASN1_DIRECTORYSTRING`. */
const directoryStrings: readonly number[] = [12, 19, 20, 28, 30];

function readPartyName(fields: DerReader): void {
  const readString = (reader: DerReader): Buffer =>
    directoryStrings.includes(reader.tag ?? 0) ? readAny(reader) : malformed();
  fields.optional(explicitTag(0), (field) => field.within(explicitTag(0), readString));
  fields.within(explicitTag(1), readString);
}
