import { Digest, viewOf } from "./digest.js";
import type { NameList, VersionList } from "./names.js";
import { Reader } from "./reader.js";
import type { VersionTable } from "./version-table.js";

const delimited = 2;
const nameTag = (1 << 3) | delimited;
const versionTag = (2 << 3) | delimited;

/** Where a repeated field stands in a message, other fields among it or not, and the digest of what it lists. */
export class Stretch {
  readonly digest = new Digest();
  readonly #bytes: Buffer;
  readonly #field: number;
  readonly #from: number;
  #to: number;

  /** @param from where the first one begins, with its tag */
  constructor(bytes: Buffer, field: number, from: number) {
    this.#bytes = bytes;
    this.#field = field;
    this.#from = this.#to = from;
  }

  /** The next one is a name in this range. */
  addName(view: DataView, from: number, to: number): void {
    this.digest.addRange(view, from, to);
    this.#to = to;
  }

  /** The next one is an entry of a map in this range. */
  addVersion(view: DataView, from: number, to: number): void {
    const nameFrom = from + 2;
    const nameTo = nameFrom + (this.#bytes[from + 1] ?? 0);
    const versionFrom = nameTo + 2;
    this.#to = to;
    // As everybody writes it: a name, then a version, both shorter than 128 bytes.
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

  /** The same in a copy of the message, without computing the digest again. */
  copied(): Stretch {
    const copy = new Stretch(Buffer.from(this.#bytes.subarray(this.#from, this.#to)), this.#field, 0);
    copy.digest.addAll(this.digest);
    copy.#to = this.#to - this.#from;
    return copy;
  }

  *values(): Generator<readonly [bytes: Buffer, from: number, to: number]> {
    const reader = new Reader(this.#bytes, this.#from, this.#to);
    while (reader.next())
      if (reader.field === this.#field && reader.delimited) yield [this.#bytes, reader.from, reader.to];
  }
}

/** A repeated field as it stands in a request, of which a digest is at hand and the values are decoded as they are asked for. */
abstract class EncodedList {
  protected readonly stretch: Stretch;

  constructor(stretch: Stretch) {
    this.stretch = stretch;
  }

  get size(): number {
    return this.digest.size;
  }

  get digest(): Digest {
    return this.stretch.digest;
  }
}

/** Names as they stand in a request. */
export class EncodedNames extends EncodedList implements NameList {
  *[Symbol.iterator](): Iterator<string> {
    for (const [bytes, from, to] of this.stretch.values()) yield bytes.toString("utf8", from, to);
  }
}

/** Versions of resources as they stand in a request. */
export class EncodedVersions extends EncodedList implements VersionList {
  kept(): VersionList {
    return new EncodedVersions(this.stretch.copied());
  }

  unmatched(table: VersionTable, marks: Uint8Array): readonly (readonly [string, string])[] {
    const unmatched: (readonly [string, string])[] = [];
    let view: DataView | undefined;
    for (const [bytes, from, to] of this.stretch.values()) {
      const { nameFrom, nameTo, versionFrom, versionTo } = entryIn(bytes, from, to);
      const place = table.placeOfRanges((view ??= viewOf(bytes)), nameFrom, nameTo, versionFrom, versionTo);
      if (place < 0)
        unmatched.push([bytes.toString("utf8", nameFrom, nameTo), bytes.toString("utf8", versionFrom, versionTo)]);
      else marks[place] = 1;
    }
    return unmatched;
  }

  *[Symbol.iterator](): Iterator<readonly [string, string]> {
    for (const [bytes, from, to] of this.stretch.values()) {
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

/** Where name and version stand in an entry of the map. */
function entryIn(bytes: Buffer, from: number, to: number): Entry {
  const entry: Entry = { nameFrom: from, nameTo: from, versionFrom: from, versionTo: from };
  const reader = new Reader(bytes, from, to);
  while (reader.next()) {
    if (!reader.delimited) continue;
    if (reader.field === 1) [entry.nameFrom, entry.nameTo] = [reader.from, reader.to];
    else if (reader.field === 2) [entry.versionFrom, entry.versionTo] = [reader.from, reader.to];
  }
  return entry;
}
