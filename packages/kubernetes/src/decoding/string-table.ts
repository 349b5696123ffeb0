const slots = 4096;
const maxLength = 40;

/** A bounded table of short strings that are repeated over objects: names of namespaces, label keys. */
export class StringTable {
  readonly #strings: (string | undefined)[] = new Array<string | undefined>(slots);

  /** Returns the string of an ASCII range, without allocating one if it was returned recently. */
  ascii(bytes: Buffer, from: number, to: number): string {
    const length = to - from;
    if (length > maxLength) return bytes.toString("latin1", from, to);
    let hash = length;
    for (let at = from; at < to; at++) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
    const slot = (hash ^ (hash >>> 15)) & (slots - 1);
    const known = this.#strings[slot];
    if (known !== undefined && known.length === length && isEqual(known, bytes, from)) return known;
    return (this.#strings[slot] = bytes.toString("latin1", from, to));
  }
}

function isEqual(text: string, bytes: Buffer, from: number): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) !== bytes[from + at]) return false;
  return true;
}
