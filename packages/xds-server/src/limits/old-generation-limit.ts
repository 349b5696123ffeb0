const mebibyte = 1024 * 1024;

export interface HeapOptions {
  /** `heap_size_limit` of V8, in bytes. */
  readonly heapSizeLimit: number;
  /** `process.versions.v8`. */
  readonly v8Version: string;
  /** Arguments of Node.js, of which a later one overrides an earlier one. */
  readonly flags: readonly string[];
}

/**
 * Returns the bytes at which a process ends because its old generation is full. The limit that V8 reports includes the
 * young generation, which has three semi-spaces; what survives does not fit there. With a heap of 128 MiB, V8 13
 * reports 320.
 */
export function oldGenerationLimit({ heapSizeLimit, v8Version, flags }: HeapOptions): number {
  const semiSpace = semiSpaceOf(flags) ?? (Number.parseInt(v8Version, 10) < 13 ? 16 : 64);
  return heapSizeLimit - 3 * semiSpace * mebibyte;
}

/** Returns the MiB of `--max-semi-space-size`. */
function semiSpaceOf(flags: readonly string[]): number | undefined {
  const found = flags.map((flag) => /^--max[-_]semi[-_]space[-_]size=(\d+)$/.exec(flag)?.[1]).filter(Boolean);
  return found.length === 0 ? undefined : Number(found.at(-1));
}
