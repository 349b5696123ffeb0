import { ApiError } from "../api-error.js";
import type { FieldMatcher, MatchedField } from "./field-matcher.js";
import { StringTable } from "./string-table.js";

/** Thrown when the bytes end within a value: more data is needed. */
export const incomplete: unique symbol = Symbol("incomplete");

/** Maximum nesting of arrays and objects. */
const maxDepth = 256;

const quote = 0x22;
const backslash = 0x5c;
const everything: MatchedField = { name: "", fields: undefined };

/**
 * Parses JSON from bytes with the results of `JSON.parse`, but without the fields that are not wanted. Fields that are
 * skipped are checked for balanced brackets and complete strings only.
 */
export class JsonReader {
  position = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #end = 0;
  #depth = 0;
  readonly #path: (string | number)[] = [];
  readonly #closers = new Uint8Array(maxDepth);
  readonly #strings = new StringTable();
  /** Set by `#scanString`. */
  #isPlain = false;

  /** Starts reading other bytes. */
  reset(bytes: Buffer, position = 0): void {
    this.#bytes = bytes;
    this.#end = bytes.length;
    this.position = position;
    this.#depth = 0;
  }

  /** Reads a value. `fields` undefined reads everything. */
  value(fields: FieldMatcher | undefined): unknown {
    switch (this.peek()) {
      case 0x7b:
        return this.#object(fields);
      case 0x5b:
        return this.#array(fields);
      case quote:
        return this.string();
      case 0x74:
        return this.#literal("true", true);
      case 0x66:
        return this.#literal("false", false);
      case 0x6e:
        return this.#literal("null", null);
      default:
        return this.#number();
    }
  }

  /** Returns the next byte after white space without consuming it. */
  peek(): number {
    for (; this.position < this.#end; this.position++) {
      const byte = this.#bytes[this.position] as number;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
    }
    throw incomplete;
  }

  /** Reports whether only white space is left. */
  get isAtEnd(): boolean {
    for (let at = this.position; at < this.#end; at++) {
      const byte = this.#bytes[at] as number;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false;
    }
    return true;
  }

  /** Consumes one punctuation byte. */
  expect(byte: number): void {
    if (this.peek() !== byte) this.fail(`expected ${String.fromCharCode(byte)}`);
    this.position++;
  }

  /** Consumes a byte if it is next. */
  accept(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.position++;
    return true;
  }

  string(): string {
    const from = this.position + 1;
    const to = this.#scanString();
    if (this.#isPlain) return this.#strings.ascii(this.#bytes, from, to);
    return this.#decodeString(from, to);
  }

  /** Skips a value. */
  skip(): void {
    const first = this.peek();
    if (first === quote) {
      this.#scanString();
      return;
    }
    if (first !== 0x7b && first !== 0x5b) {
      this.value(undefined);
      return;
    }
    this.#skipContainer();
  }

  /** @throws ApiError `malformed`, with the path of the value */
  fail(problem: string): never {
    const path = this.#path
      .slice(0, this.#depth)
      .map((step) => (typeof step === "number" ? `[${step}]` : `.${step.slice(0, 100)}`))
      .join("");
    throw new ApiError(
      "malformed",
      `invalid JSON at ${path === "" ? "the top level" : path.replace(/^\./, "")}: ${problem}`,
    );
  }

  #object(fields: FieldMatcher | undefined): Record<string, unknown> {
    this.position++;
    this.#enter();
    const object: Record<string, unknown> = {};
    if (this.accept(0x7d)) return this.#leave(object);
    for (;;) {
      if (this.peek() !== quote) this.fail("expected a field name");
      this.#field(object, fields);
      if (this.accept(0x2c)) continue;
      this.expect(0x7d);
      return this.#leave(object);
    }
  }

  #field(object: Record<string, unknown>, fields: FieldMatcher | undefined): void {
    const from = this.position + 1;
    const to = this.#scanString();
    let field: MatchedField | undefined;
    let name: string;
    if (fields === undefined) {
      field = everything;
      name = this.#isPlain ? this.#strings.ascii(this.#bytes, from, to) : this.#decodeString(from, to);
    } else {
      field = this.#isPlain ? fields.find(this.#bytes, from, to) : fields.findName(this.#decodeString(from, to));
      name = field?.name ?? "";
    }
    this.expect(0x3a);
    if (field === undefined) {
      this.skip();
      return;
    }
    this.#path[this.#depth - 1] = name;
    const value = this.value(field.fields);
    // As JSON.parse, which never sets the prototype.
    if (name === "__proto__") {
      Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
    } else object[name] = value;
  }

  #array(fields: FieldMatcher | undefined): unknown[] {
    this.position++;
    this.#enter();
    const array: unknown[] = [];
    if (this.accept(0x5d)) return this.#leave(array);
    for (;;) {
      this.#path[this.#depth - 1] = array.length;
      array.push(this.value(fields));
      if (this.accept(0x2c)) continue;
      this.expect(0x5d);
      return this.#leave(array);
    }
  }

  #enter(): void {
    if (this.#depth === maxDepth) this.fail(`nested deeper than ${maxDepth} levels`);
    this.#path[this.#depth++] = "";
  }

  #leave<T>(container: T): T {
    this.#depth--;
    return container;
  }

  /** Consumes a string, sets `#isPlain` if it is ASCII without escapes, and returns the offset of its end. */
  #scanString(): number {
    const bytes = this.#bytes;
    const end = this.#end;
    let isPlain = true;
    for (let at = this.position + 1; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === quote) {
        this.position = at + 1;
        this.#isPlain = isPlain;
        return at;
      }
      if (byte === backslash) {
        isPlain = false;
        at++;
      } else if (byte >= 0x80) isPlain = false;
      else if (byte < 0x20) this.fail("control character in a string");
    }
    throw incomplete;
  }

  #decodeString(from: number, to: number): string {
    const text = this.#bytes.toString("utf8", from - 1, to + 1);
    try {
      return JSON.parse(text) as string;
    } catch {
      return this.fail("invalid escape in a string");
    }
  }

  #literal<T>(text: string, value: T): T {
    for (let at = 0; at < text.length; at++) {
      if (this.position + at >= this.#end) throw incomplete;
      if (this.#bytes[this.position + at] !== text.charCodeAt(at)) this.fail("invalid literal");
    }
    this.position += text.length;
    return value;
  }

  #number(): number {
    const from = this.position;
    let at = from;
    while (at < this.#end && isNumberByte(this.#bytes[at] as number)) at++;
    if (at === from) this.fail("unexpected character");
    if (at === this.#end) throw incomplete;
    const text = this.#bytes.toString("latin1", from, at);
    if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) this.fail("invalid number");
    this.position = at;
    return Number(text);
  }

  #skipContainer(): void {
    const bytes = this.#bytes;
    const end = this.#end;
    let open = 0;
    for (let at = this.position; at < end; at++) {
      const byte = bytes[at] as number;
      if (!isStructure[byte]) continue;
      if (byte === quote) at = endOfString(bytes, at, end);
      else if (byte === 0x7b || byte === 0x5b) {
        if (this.#depth + open === maxDepth) this.fail(`nested deeper than ${maxDepth} levels`);
        this.#closers[open++] = byte + 2;
      } else if (this.#closers[--open] !== byte) this.fail("unbalanced brackets");
      else if (open === 0) {
        this.position = at + 1;
        return;
      }
    }
    throw incomplete;
  }
}

/** Marks quotes and brackets, so that a skipped byte costs one lookup. */
const isStructure = new Uint8Array(256);
for (const byte of Buffer.from('"{}[]')) isStructure[byte] = 1;

/** Returns the offset of the quote that ends a skipped string, or `end` if it is not there yet. */
function endOfString(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from + 1; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === quote) return at;
    if (byte === backslash) at++;
  }
  return end;
}

function isNumberByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x2b || byte === 0x2e || byte === 0x65 || byte === 0x45
  );
}
