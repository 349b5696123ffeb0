import { record } from "./json.js";
import { quoteHint } from "./quote-hint.js";
import type { FieldPath, IssueCode, Report } from "./report.js";

/** The report and the form of values, which all objects of a document share. */
interface FieldsRoot {
  readonly report: Report;
  readonly describe: (value: unknown) => string;
}

const noFields: readonly Fields[] = [];

/**
 * Typed access to the fields of a Kubernetes object without a generated schema. A field of an unexpected type is
 * reported with its path and reads as absent. Null reads as absent.
 */
export class Fields {
  readonly #fields: Readonly<Record<string, unknown>> | undefined;
  readonly #root: FieldsRoot;
  /** The object that contains this one, the name of its field, and the index in its list. */
  readonly #above: Fields | undefined;
  readonly #name: string;
  readonly #index: number | undefined;

  private constructor(
    fields: Readonly<Record<string, unknown>> | undefined,
    root: FieldsRoot,
    above?: Fields,
    name = "",
    index?: number,
  ) {
    this.#fields = fields;
    this.#root = root;
    this.#above = above;
    this.#name = name;
    this.#index = index;
  }

  static of(body: Readonly<Record<string, unknown>>, report: Report): Fields {
    return new Fields(body, { report, describe });
  }

  /** Returns fields whose values never appear in messages, only their types. */
  static secret(body: Readonly<Record<string, unknown>>, report: Report): Fields {
    return new Fields(body, { report, describe: describeType });
  }

  /** Reports whether the object exists. */
  get present(): boolean {
    return this.#fields !== undefined;
  }

  object(name: string): Fields {
    const value = this.#fields?.[name] ?? undefined;
    const fields = record(value);
    if (value !== undefined && fields === undefined) this.#reportType(name, value, "a mapping");
    return new Fields(fields, this.#root, this, name);
  }

  list(name: string): readonly Fields[] {
    const values = this.#array(name);
    if (values.length === 0) return noFields;
    const list: Fields[] = [];
    for (let i = 0; i < values.length; i++) {
      const fields = record(values[i]);
      if (fields !== undefined) list.push(new Fields(fields, this.#root, this, name, i));
      else this.#report.error([...this.#path, name, i], `is ${this.#describe(values[i])}, expected a mapping`);
    }
    return list;
  }

  string(name: string, absent = ""): string {
    const value = this.#fields?.[name] ?? undefined;
    if (value === undefined) return absent;
    if (typeof value === "string") return value === "" ? absent : value;
    this.#reportNoString([...this.#path, name], value);
    return absent;
  }

  strings(name: string): readonly string[] {
    return this.#array(name).flatMap((value, i) => {
      if (typeof value === "string") return [value];
      this.#reportNoString([...this.#path, name, i], value);
      return [];
    });
  }

  integers(name: string): readonly number[] {
    return this.#array(name).flatMap((value, i) => {
      if (typeof value === "number" && Number.isInteger(value)) return [value];
      this.#report.error([...this.#path, name, i], `is ${this.#describe(value)}, expected a whole number`);
      return [];
    });
  }

  boolean(name: string, absent = false): boolean {
    const value = this.#fields?.[name] ?? undefined;
    if (value === undefined) return absent;
    if (typeof value === "boolean") return value;
    this.#reportType(name, value, "true or false");
    return absent;
  }

  /** Reports whether a field is set to anything but null. */
  has(name: string): boolean {
    return (this.#fields?.[name] ?? undefined) !== undefined;
  }

  /** Names of the fields that are set to anything but null. */
  names(): readonly string[] {
    return Object.keys(this.#fields ?? {}).filter((name) => this.has(name));
  }

  isString(name: string): boolean {
    return typeof this.#fields?.[name] === "string";
  }

  /** Returns an integer; undefined if absent. */
  integer(name: string): number | undefined {
    const value = this.#fields?.[name] ?? undefined;
    if (value === undefined || (typeof value === "number" && Number.isInteger(value))) return value;
    this.#reportType(name, value, "a whole number");
    return undefined;
  }

  /** Returns a required port number. */
  port(name: string): number {
    const value = this.#fields?.[name] ?? undefined;
    if (isPort(value)) return value;
    this.#reportType(name, value, "a port number from 1 to 65535");
    return 0;
  }

  stringMap(name: string): Readonly<Record<string, string>> {
    const fields = this.object(name);
    if (fields.#fields === undefined) return {};
    const entries: [string, string][] = [];
    for (const [key, value] of Object.entries(fields.#fields)) {
      if (typeof value === "string") entries.push([key, value]);
      else if (value === null) entries.push([key, ""]);
      else this.#reportNoString([...this.#path, name, key], value);
    }
    return Object.fromEntries(entries);
  }

  /** Returns a mapping with base64 values decoded. */
  bytesMap(name: string): Readonly<Record<string, Uint8Array>> {
    const decoded: Record<string, Uint8Array> = {};
    for (const [key, value] of Object.entries(this.stringMap(name))) {
      const compact = value.replace(/[\r\n]/g, "");
      if (/^[A-Za-z0-9+/]*={0,2}$/.test(compact) && compact.length % 4 === 0)
        decoded[key] = Uint8Array.from(Buffer.from(compact, "base64"));
      else
        this.#report.error(
          [...this.#path, name, key],
          "is not base64, as values of data are (plain text goes under stringData)",
        );
    }
    return decoded;
  }

  /** Returns `{name: value}`, or an empty object if absent, to be spread into an object with optional fields. */
  optionalString<N extends string>(name: N): { readonly [K in N]?: string } {
    const value = this.string(name);
    return (value === "" ? {} : { [name]: value }) as { readonly [K in N]?: string };
  }

  optionalPort<N extends string>(name: N): { readonly [K in N]?: number } {
    const value = this.#fields?.[name] ?? undefined;
    return (value === undefined || value === 0 ? {} : { [name]: this.port(name) }) as { readonly [K in N]?: number };
  }

  /** Returns the number or the name of a port. */
  optionalPortOrName<N extends string>(name: N): { readonly [K in N]?: number | string } {
    const value = this.#fields?.[name] ?? undefined;
    return typeof value === "string" ? this.optionalString(name) : this.optionalPort(name);
  }

  optionalStringMap<N extends string>(name: N): { readonly [K in N]?: Readonly<Record<string, string>> } {
    const value = this.stringMap(name);
    return (Object.keys(value).length === 0 ? {} : { [name]: value }) as {
      readonly [K in N]?: Readonly<Record<string, string>>;
    };
  }

  /** Reports that a value below the object breaks a rule. `path` is relative to the object. */
  fault(path: FieldPath, value: unknown, expected: string): void {
    this.#report.error([...this.#path, ...path], `is ${this.#describe(value)}, expected ${expected}`);
  }

  /** Reports what is accepted, although it breaks a rule or has no effect. `path` is relative to the object. */
  warn(path: FieldPath, message: string, code?: IssueCode): void {
    this.#report.warning([...this.#path, ...path], message, code);
  }

  get #report(): Report {
    return this.#root.report;
  }

  #describe(value: unknown): string {
    return this.#root.describe(value);
  }

  /** Path of the object, which is built for a fault only. */
  get #path(): FieldPath {
    if (this.#above === undefined) return [];
    const path = [...this.#above.#path, this.#name];
    return this.#index === undefined ? path : [...path, this.#index];
  }

  #array(name: string): readonly unknown[] {
    const value = this.#fields?.[name] ?? undefined;
    if (value === undefined) return [];
    if (Array.isArray(value)) return value;
    this.#reportType(name, value, "a list");
    return [];
  }

  #reportNoString(path: FieldPath, value: unknown): void {
    const word = this.#root.describe === describe ? this.#report.wordAt?.(path) : undefined;
    this.#report.error(path, `is ${this.#describe(value)}, expected a string${quoteHint(value, word)}`);
  }

  #reportType(name: string, value: unknown, expected: string): void {
    this.#report.error([...this.#path, name], `is ${this.#describe(value)}, expected ${expected}`);
  }
}

function isPort(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value < 65536;
}

/** Describes a value briefly, for error messages. */
export function describe(value: unknown): string {
  if (typeof value === "object" || value === undefined) return describeType(value);
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** Describes the type of a value. */
function describeType(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a mapping" : `a ${typeof value}`;
}
