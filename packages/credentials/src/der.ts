/** Tags of DER: the class and form of the first octet in the upper bits, the number in the lower ones. */
const constructed = 0x2000_0000;
const contextSpecific = 0x8000_0000;

export const derTags = {
  boolean: 1,
  integer: 2,
  bitString: 3,
  octetString: 4,
  null: 5,
  objectIdentifier: 6,
  enumerated: 10,
  utf8String: 12,
  sequence: constructed + 16,
  set: constructed + 17,
  utcTime: 23,
  generalizedTime: 24,
  universalString: 28,
  bmpString: 30,
} as const;

/** Returns the tag of a field `[number]` that replaces the type's own tag. */
export const implicitTag = (number: number): number => contextSpecific + number;

/** Returns the tag of a field `[number]` that contains elements. */
export const explicitTag = (number: number): number => contextSpecific + constructed + number;

/** Reports whether a tag is one of ASN.1's own types. */
export const isUniversal = (tag: number): boolean => tag < 0x4000_0000;

export const isConstructed = (tag: number): boolean => (tag & constructed) !== 0;

export const numberOf = (tag: number): number => tag % constructed;

/** Bytes that are not the DER of the expected type. Never leaves this folder: {@link ifWellFormed} catches it. */
class MalformedDer extends Error {}

export function malformed(): never {
  throw new MalformedDer();
}

/** Returns what a function reads from the start of bytes; undefined if they are malformed. */
export function readDer<T>(bytes: Uint8Array, read: (reader: DerReader) => T): T | undefined {
  return ifWellFormed(() => read(new DerReader(bytes)));
}

/** Reads one element that is all of the bytes. */
export function readWhole<T>(bytes: Uint8Array, read: (reader: DerReader) => T): T {
  const reader = new DerReader(bytes);
  const value = read(reader);
  return reader.isEmpty ? value : malformed();
}

/** Returns what a function reads; undefined if it finds that something is malformed. */
export function ifWellFormed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedDer) return undefined;
    throw error;
  }
}

/**
 * Reads elements in sequence, as strictly as BoringSSL: tags and lengths in their shortest form, and no indefinite
 * lengths.
 */
export class DerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isEmpty(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** The tag of the next element; undefined if there is none or the tag is malformed. */
  get tag(): number | undefined {
    return this.#tagAt(this.#at)?.tag;
  }

  /** Returns the content of the next element, which must have a tag. */
  take(tag: number): Buffer {
    return this.tag === tag ? this.any().content : malformed();
  }

  /** Returns the next element. */
  any(): { readonly tag: number; readonly content: Buffer } {
    const { tag, end } = this.#tagAt(this.#at) ?? malformed();
    const { start, length } = this.#lengthAt(end, false);
    return { tag, content: this.#content(start, length) };
  }

  /** Returns the next element with its tag and length. */
  element(tag: number): Buffer {
    const from = this.#at;
    this.take(tag);
    return this.#bytes.subarray(from, this.#at);
  }

  /** Returns the content of the next element, whose length may have superfluous octets. */
  takeWithLongLength(tag: number): Buffer {
    const found = this.#tagAt(this.#at);
    if (found?.tag !== tag) return malformed();
    const { start, length } = this.#lengthAt(found.end, true);
    return this.#content(start, length);
  }

  /** Reads the elements within the next one, which must have a tag and nothing else within. */
  within<T>(tag: number, read: (reader: DerReader) => T): T {
    return readWhole(this.take(tag), read);
  }

  /** Reads an element if it has a tag. */
  optional<T>(tag: number, read: (reader: DerReader) => T): T | undefined {
    return this.tag === tag ? read(this) : undefined;
  }

  /** Reads elements of one type within the next element. */
  list<T>(tag: number, read: (reader: DerReader) => T): readonly T[] {
    return this.within(tag, (elements) => {
      const values: T[] = [];
      while (!elements.isEmpty) values.push(read(elements));
      return values;
    });
  }

  #content(start: number, length: number): Buffer {
    if (start + length > this.#bytes.length) malformed();
    this.#at = start + length;
    return this.#bytes.subarray(start, this.#at);
  }

  #tagAt(at: number): { tag: number; end: number } | undefined {
    const first = this.#bytes[at];
    if (first === undefined) return undefined;
    const upper = (first & 0xe0) * 2 ** 24;
    const low = first & 0x1f;
    if (low === 0 && (upper === 0 || upper === constructed)) return undefined;
    if (low !== 0x1f) return { tag: upper + low, end: at + 1 };
    let number = 0;
    for (let next = at + 1; ; next++) {
      const octet = this.#bytes[next];
      if (octet === undefined || (number === 0 && octet === 0x80)) return undefined;
      number = number * 128 + (octet & 0x7f);
      if (number >= constructed) return undefined;
      if (octet < 0x80) return number < 0x1f ? undefined : { tag: upper + number, end: next + 1 };
    }
  }

  #lengthAt(at: number, takesLong: boolean): { start: number; length: number } {
    const first = this.#bytes[at] ?? malformed();
    if (first < 0x80) return { start: at + 1, length: first };
    const octets = first - 0x80;
    if (octets === 0 || octets > 4 || at + 1 + octets > this.#bytes.length) malformed();
    const length = this.#bytes.readUIntBE(at + 1, octets);
    if (!takesLong && (length < 0x80 || length < 256 ** (octets - 1))) malformed();
    return { start: at + 1 + octets, length };
  }
}
