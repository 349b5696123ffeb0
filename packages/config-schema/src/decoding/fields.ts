import { record } from "./json.js";
import { quoteHint } from "./quote-hint.js";
import type { FieldPath, Report } from "./report.js";

/**
 * Reads the fields of a Kubernetes object, whose schema is not generated: each read names a field and the type
 * that is expected there. A field of another type is reported with its path, and reads as absent; so does null.
 */
export class Fields {
  private constructor(
    private readonly fields: Readonly<Record<string, unknown>> | undefined,
    private readonly path: FieldPath,
    private readonly report: Report,
    private readonly described: (value: unknown) => string = describe,
  ) {}

  static of(body: Readonly<Record<string, unknown>>, report: Report): Fields {
    return new Fields(body, [], report);
  }

  /** Fields whose values are in no message, only what they are. */
  static secret(body: Readonly<Record<string, unknown>>, report: Report): Fields {
    return new Fields(body, [], report, describeType);
  }

  /** False if these are the fields of an object that is absent. */
  get present(): boolean {
    return this.fields !== undefined;
  }

  object(name: string): Fields {
    const value = this.fields?.[name] ?? undefined;
    const fields = record(value);
    if (value !== undefined && fields === undefined) this.wrong(name, value, "a mapping");
    return new Fields(fields, [...this.path, name], this.report, this.described);
  }

  list(name: string): readonly Fields[] {
    return this.array(name).flatMap((value, i) => {
      const fields = record(value);
      if (fields === undefined)
        this.report.error([...this.path, name, i], `is ${this.described(value)}, expected a mapping`);
      return fields === undefined ? [] : [new Fields(fields, [...this.path, name, i], this.report, this.described)];
    });
  }

  string(name: string, absent = ""): string {
    const value = this.fields?.[name] ?? undefined;
    if (value === undefined) return absent;
    if (typeof value === "string") return value === "" ? absent : value;
    this.noString([...this.path, name], value);
    return absent;
  }

  strings(name: string): readonly string[] {
    return this.array(name).flatMap((value, i) => {
      if (typeof value === "string") return [value];
      this.noString([...this.path, name, i], value);
      return [];
    });
  }

  boolean(name: string, absent = false): boolean {
    const value = this.fields?.[name] ?? undefined;
    if (value === undefined) return absent;
    if (typeof value === "boolean") return value;
    this.wrong(name, value, "true or false");
    return absent;
  }

  /** Reports whether a field is set to anything but null. */
  has(name: string): boolean {
    return (this.fields?.[name] ?? undefined) !== undefined;
  }

  /** A whole number; undefined where it is absent. */
  integer(name: string): number | undefined {
    const value = this.fields?.[name] ?? undefined;
    if (value === undefined || (typeof value === "number" && Number.isInteger(value))) return value;
    this.wrong(name, value, "a whole number");
    return undefined;
  }

  /** A port number that must be there. */
  port(name: string): number {
    const value = this.fields?.[name] ?? undefined;
    if (isPort(value)) return value;
    this.wrong(name, value, "a port number from 1 to 65535");
    return 0;
  }

  stringMap(name: string): Readonly<Record<string, string>> {
    const fields = this.object(name);
    const entries = Object.entries(fields.fields ?? {}).flatMap(([key, value]): [string, string][] => {
      if (typeof value === "string") return [[key, value]];
      if (value !== null) this.noString([...this.path, name, key], value);
      return value === null ? [[key, ""]] : [];
    });
    return Object.fromEntries(entries);
  }

  /** A mapping whose values are base64. */
  bytesMap(name: string): Readonly<Record<string, Uint8Array>> {
    const decoded: Record<string, Uint8Array> = {};
    for (const [key, value] of Object.entries(this.stringMap(name))) {
      const compact = value.replace(/[\r\n]/g, "");
      if (/^[A-Za-z0-9+/]*={0,2}$/.test(compact) && compact.length % 4 === 0)
        decoded[key] = Uint8Array.from(Buffer.from(compact, "base64"));
      else
        this.report.error(
          [...this.path, name, key],
          "is not base64, as values of data are (plain text goes under stringData)",
        );
    }
    return decoded;
  }

  /** `{name: value}` or nothing, to be spread into an object with optional fields. */
  optionalString<N extends string>(name: N): { readonly [K in N]?: string } {
    const value = this.string(name);
    return (value === "" ? {} : { [name]: value }) as { readonly [K in N]?: string };
  }

  optionalPort<N extends string>(name: N): { readonly [K in N]?: number } {
    const value = this.fields?.[name] ?? undefined;
    return (value === undefined || value === 0 ? {} : { [name]: this.port(name) }) as { readonly [K in N]?: number };
  }

  /** A port's number, or the name of one. */
  optionalPortOrName<N extends string>(name: N): { readonly [K in N]?: number | string } {
    const value = this.fields?.[name] ?? undefined;
    return typeof value === "string" ? this.optionalString(name) : this.optionalPort(name);
  }

  optionalStringMap<N extends string>(name: N): { readonly [K in N]?: Readonly<Record<string, string>> } {
    const value = this.stringMap(name);
    return (Object.keys(value).length === 0 ? {} : { [name]: value }) as {
      readonly [K in N]?: Readonly<Record<string, string>>;
    };
  }

  private array(name: string): readonly unknown[] {
    const value = this.fields?.[name] ?? undefined;
    if (value === undefined) return [];
    if (Array.isArray(value)) return value;
    this.wrong(name, value, "a list");
    return [];
  }

  private noString(path: FieldPath, value: unknown): void {
    const word = this.described === describe ? this.report.wordAt?.(path) : undefined;
    this.report.error(path, `is ${this.described(value)}, expected a string${quoteHint(value, word)}`);
  }

  private wrong(name: string, value: unknown, expected: string): void {
    this.report.error([...this.path, name], `is ${this.described(value)}, expected ${expected}`);
  }
}

function isPort(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value < 65536;
}

/** What a value is, in words short enough for an error message. */
export function describe(value: unknown): string {
  if (typeof value === "object" || value === undefined) return describeType(value);
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** What a value is, without the value. */
function describeType(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a mapping" : `a ${typeof value}`;
}
