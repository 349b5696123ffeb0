/** Tags of DER. */
export const sequence = 0x30;
/** `[0]`, constructed. */
export const contextField = 0xa0;

/** An element of DER. */
export interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/** Returns consecutive elements of DER; undefined if they are malformed. */
export function elementsOf(der: Buffer): readonly Element[] | undefined {
  const found: Element[] = [];
  for (let at = 0; at < der.length;) {
    const tag = der[at] ?? 0;
    const first = der[at + 1] ?? 0xff;
    const octets = first < 0x80 ? 0 : first - 0x80;
    if (first === 0x80 || octets > 4 || at + 2 + octets > der.length) return undefined;
    const length = octets === 0 ? first : der.readUIntBE(at + 2, octets);
    const start = at + 2 + octets;
    if (start + length > der.length) return undefined;
    found.push({ tag, content: der.subarray(start, start + length) });
    at = start + length;
  }
  return found;
}
