/**
 * Copies bytes into memory shared with other copies: an `ArrayBuffer` for each small resource would cost more than the
 * resource.
 */
export function copyToSlab(bytes: Uint8Array): Uint8Array {
  const length = bytes.length;
  if (length > slabSize / 8) return new Uint8Array(bytes);
  if (slabUsed + length > slabSize) {
    slab = new ArrayBuffer(slabSize);
    slabUsed = 0;
  }
  const out = new Uint8Array(slab, slabUsed, length);
  out.set(bytes);
  slabUsed += (length + 7) & ~7;
  return out;
}

/** Bytes. */
const slabSize = 16_384;
let slab = new ArrayBuffer(slabSize);
let slabUsed = 0;
