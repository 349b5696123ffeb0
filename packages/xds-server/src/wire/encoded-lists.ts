import { FieldReader } from "@istiod/protobuf-wire";
import { Digest, viewOf } from "./digest.js";
import { sliceNames, type Sliced } from "../sliced.js";
import type { NameList, VersionList } from "./names.js";
import { type NameVersion, unmatchedBytes, type VersionTable } from "./version-table.js";

const delimited = 2;
const nameTag = (1 << 3) | delimited;
const versionTag = (2 << 3) | delimited;

/**
 * The range of a message that contains the entries of a repeated field, possibly mixed with other fields, and their
 * digest.
 */
export class RepeatedField {
  readonly digest = new Digest();
  /** Length of the longest entry in bytes. */
  longest = 0;
  readonly #bytes: Buffer;
  readonly #field: number;
  readonly #from: number;
  #to: number;

  /** @param from offset of the first entry's tag */
  constructor(bytes: Buffer, field: number, from: number) {
    this.#bytes = bytes;
    this.#field = field;
    this.#from = this.#to = from;
  }

  /** Adds the next entry, a name. */
  addName(view: DataView, from: number, to: number): void {
    this.digest.addRange(view, from, to);
    if (to - from > this.longest) this.longest = to - from;
    this.#to = to;
  }

  /** Adds the next entry, a map entry of name and version. */
  addVersion(view: DataView, from: number, to: number): void {
    const nameFrom = from + 2;
    const nameTo = nameFrom + (this.#bytes[from + 1] ?? 0);
    const versionFrom = nameTo + 2;
    if (to - from > this.longest) this.longest = to - from;
    this.#to = to;
    // Fast path: a name, then a version, both shorter than 128 bytes.
    if (
      versionFrom <= to &&
      this.#bytes[from] === nameTag &&
      nameTo - nameFrom < 0x80 &&
      this.#bytes[nameTo] === versionTag &&
      to - versionFrom < 0x80 &&
      this.#bytes[nameTo + 1] === to - versionFrom
    ) {
      this.digest.addRanges(view, nameFrom, nameTo, versionFrom, to);
    } else {
      const parts = entryIn(this.#bytes, from, to);
      this.digest.addRanges(view, parts.nameFrom, parts.nameTo, parts.versionFrom, parts.versionTo);
    }
  }

  /** Length of the range in bytes. */
  get bytes(): number {
    return this.#to - this.#from;
  }

  /** Returns a copy that does not reference the message. */
  copy(): RepeatedField {
    const copy = new RepeatedField(Buffer.from(this.#bytes.subarray(this.#from, this.#to)), this.#field, 0);
    copy.digest.addAll(this.digest);
    copy.longest = this.longest;
    copy.#to = this.#to - this.#from;
    return copy;
  }

  *values(): Generator<readonly [bytes: Buffer, from: number, to: number]> {
    const reader = new FieldReader(this.#bytes, this.#from, this.#to);
    while (reader.next())
      if (reader.field === this.#field && reader.delimited) yield [this.#bytes, reader.from, reader.to];
  }
}

/** A repeated field of an encoded request, with its digest. Values are decoded on iteration. */
abstract class EncodedList {
  protected readonly field: RepeatedField;

  constructor(field: RepeatedField) {
    this.field = field;
  }

  get size(): number {
    return this.digest.size;
  }

  get digest(): Digest {
    return this.field.digest;
  }

  get longest(): number {
    return this.field.longest;
  }

  get bytes(): number {
    return this.field.bytes;
  }
}

/** Names in an encoded request. */
export class EncodedNames extends EncodedList implements NameList {
  *[Symbol.iterator](): Iterator<string> {
    for (const [bytes, from, to] of this.field.values()) yield bytes.toString("utf8", from, to);
  }
}

/** Resource versions in an encoded request. */
export class EncodedVersions extends EncodedList implements VersionList {
  detach(): VersionList {
    return new EncodedVersions(this.field.copy());
  }

  *unmatched(table: VersionTable, marks: Uint8Array): Sliced<readonly NameVersion[]> {
    const unmatched: NameVersion[] = [];
    let handled = 0;
    let view: DataView | undefined;
    for (const [bytes, from, to] of this.field.values()) {
      const { nameFrom, nameTo, versionFrom, versionTo } = entryIn(bytes, from, to);
      const index = table.indexOfRanges((view ??= viewOf(bytes)), nameFrom, nameTo, versionFrom, versionTo);
      if (index < 0)
        unmatched.push([bytes.toString("utf8", nameFrom, nameTo), bytes.toString("utf8", versionFrom, versionTo)]);
      else marks[index] = 1;
      if (++handled % sliceNames === 0) yield unmatched.length * unmatchedBytes;
    }
    return unmatched;
  }

  *[Symbol.iterator](): Iterator<readonly [string, string]> {
    for (const [bytes, from, to] of this.field.values()) {
      const { nameFrom, nameTo, versionFrom, versionTo } = entryIn(bytes, from, to);
      yield [bytes.toString("utf8", nameFrom, nameTo), bytes.toString("utf8", versionFrom, versionTo)];
    }
  }
}

interface Entry {
  nameFrom: number;
  nameTo: number;
  versionFrom: number;
  versionTo: number;
}

/** Returns the ranges of name and version in a map entry. */
function entryIn(bytes: Buffer, from: number, to: number): Entry {
  const entry: Entry = { nameFrom: from, nameTo: from, versionFrom: from, versionTo: from };
  const reader = new FieldReader(bytes, from, to);
  while (reader.next()) {
    if (!reader.delimited) continue;
    if (reader.field === 1) [entry.nameFrom, entry.nameTo] = [reader.from, reader.to];
    else if (reader.field === 2) [entry.versionFrom, entry.versionTo] = [reader.from, reader.to];
  }
  return entry;
}
