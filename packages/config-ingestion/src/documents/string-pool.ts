/** Longer strings are rarely repeated; they are copied, not pooled. */
const longestPooled = 96;

/** A pool is emptied when it holds this many strings, so that it does not grow with all that was ever seen. */
const capacity = 50_000;

/**
 * Replaces the strings of parsed values by copies of their own, equal ones by one copy. A parser's strings are windows on the text that it parsed,
 * each of which would keep the whole text alive.
 */
export class StringPool {
  private readonly strings = new Map<string, string>();

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
