/** Longer strings are rarely repeated; they are copied, not pooled. */
const longestPooled = 96;

/** A pool is emptied when it holds this many strings. */
const capacity = 50_000;

/**
 * Strings that nothing has any more are looked for when there are a quarter more than were left the last time, and this
 * many.
 */
const addedBetween = 2048;

/**
 * Replaces the strings of parsed values by copies of their own, equal ones by one copy. A parser's strings are windows
 * on the text that it parsed, each of which would keep the whole text alive.
 */
export class StringPool {
  private strings = new Map<string, string>();
  private tidyAt: number | undefined;

  /** How many strings equal ones are replaced by. */
  get size(): number {
    return this.strings.size;
  }

  /** The same value, its arrays and objects changed in place. */
  intern(value: unknown): unknown {
    if (typeof value === "string") return this.string(value);
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
   * To be called between readings. Where many strings came since the last time, all are forgotten that are not in the
   * values, most of which were of objects that are gone, or of fields that nobody reads.
   *
   * @param values all that is in use; looked at only if it is time. What was read first is taken to be in use.
   */
  tidy(values: () => Iterable<unknown>): void {
    if (this.tidyAt !== undefined && this.strings.size < this.tidyAt) return;
    if (this.tidyAt !== undefined) {
      const kept = new Map<string, string>();
      for (const value of values()) this.keep(value, kept);
      this.strings = kept;
    }
    this.tidyAt = Math.ceil(this.strings.size * 1.25) + addedBetween;
  }

  private keep(value: unknown, kept: Map<string, string>): void {
    if (typeof value === "string") {
      const pooled = this.strings.get(value);
      if (pooled !== undefined) kept.set(pooled, pooled);
    } else if (Array.isArray(value)) for (const item of value) this.keep(item, kept);
    else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value))
      for (const field of Object.values(value)) this.keep(field, kept);
  }

  private string(text: string): string {
    const pooled = this.strings.get(text);
    if (pooled !== undefined) return pooled;
    const copy = Buffer.from(text, "utf16le").toString("utf16le");
    if (copy.length > longestPooled) return copy;
    if (this.strings.size >= capacity) this.strings.clear();
    this.strings.set(copy, copy);
    return copy;
  }
}
