/** Longest string that is pooled. Longer ones are rarely repeated; they are copied. */
const maxPooledLength = 96;

/** Number of strings at which the pool is emptied. */
const capacity = 50_000;

/** Number of strings, beyond a quarter of those kept last time, after which unused strings are removed. */
const cleanupThreshold = 2048;

/**
 * Replaces the strings of parsed values by copies, equal strings by one copy. A parser's strings are slices of the
 * parsed text, and each slice keeps the whole text alive.
 */
export class StringPool {
  #strings = new Map<string, string>();
  #cleanupAt: number | undefined;

  /** Number of pooled strings. */
  get size(): number {
    return this.#strings.size;
  }

  /** Returns the value with its strings pooled. Arrays and objects are changed in place. */
  intern(value: unknown): unknown {
    if (typeof value === "string") return this.#pool(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) value[i] = this.intern(value[i]);
      return value;
    }
    const fields = value as Record<string, unknown>;
    for (const key of Object.keys(fields)) fields[key] = this.intern(fields[key]);
    return value;
  }

  /**
   * Removes strings that no value uses, if many were added since the last cleanup. Most of them belonged to objects
   * that are gone, or to fields that are not kept. Call it between readings.
   *
   * @param values values in use, visited only if a cleanup is due. The first call only sets the threshold.
   */
  removeUnused(values: () => Iterable<unknown>): void {
    if (this.#cleanupAt !== undefined && this.#strings.size < this.#cleanupAt) return;
    if (this.#cleanupAt !== undefined) {
      const kept = new Map<string, string>();
      for (const value of values()) this.#keep(value, kept);
      this.#strings = kept;
    }
    this.#cleanupAt = Math.ceil(this.#strings.size * 1.25) + cleanupThreshold;
  }

  #keep(value: unknown, kept: Map<string, string>): void {
    if (typeof value === "string") {
      const pooled = this.#strings.get(value);
      if (pooled !== undefined) kept.set(pooled, pooled);
    } else if (Array.isArray(value)) for (const item of value) this.#keep(item, kept);
    else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value))
      for (const field of Object.values(value)) this.#keep(field, kept);
  }

  #pool(text: string): string {
    const pooled = this.#strings.get(text);
    if (pooled !== undefined) return pooled;
    const copy = Buffer.from(text, "utf16le").toString("utf16le");
    if (copy.length > maxPooledLength) return copy;
    if (this.#strings.size >= capacity) this.#strings.clear();
    this.#strings.set(copy, copy);
    return copy;
  }
}
