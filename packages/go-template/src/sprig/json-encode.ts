import { checkLength, spend } from "../budget.js";
import { formatFloat } from "../format/float-text.js";
import { compareStrings } from "../values/strings.js";
import { integerOf, isFunction, typeOf } from "../values/type-of.js";
import { GoInteger, GoList, GoMap, GoPointer, GoStruct, type Value } from "../values/values.js";

/** Options of encoding. */
export interface EncodeOptions {
  /** True if `<`, `>` and `&` are escaped. */
  readonly escapesHtml: boolean;
  /** Indentation of each level; undefined for a text on one line. */
  readonly indent?: string;
}

/**
 * Returns a value in JSON, as Go's `encoding/json` writes it. The fields of a struct have the names that templates use,
 * unless the struct has a JSON form of its own.
 *
 * @throws Error for functions, infinities and what is not a number
 */
export function encodeJson(value: Value, options: EncodeOptions): string {
  return encode(value, options, "\n");
}

function encode(value: Value, options: EncodeOptions, line: string): string {
  spend(1);
  const text = encodeScalar(value, options) ?? encodeComposite(value, options, line);
  checkLength(text.length);
  return text;
}

function encodeScalar(value: Value, { escapesHtml }: EncodeOptions): string | undefined {
  switch (typeof value) {
    case "string":
      return encodeString(value, escapesHtml);
    case "boolean":
      return String(value);
    case "number":
      return encodeFloat(value);
    default:
      return value === null ? "null" : integerOf(value)?.toString();
  }
}

function encodeComposite(value: Value, options: EncodeOptions, line: string): string {
  if (value instanceof GoList) return encodeList(value, options, line);
  if (value instanceof GoMap) return value.isNil ? "null" : encodeObject([...value.entries], true, options, line);
  if (value instanceof GoStruct) return encodeStruct(value, options, line);
  if (value instanceof GoPointer) return encode(value.target, options, line);
  const type = value !== null && isFunction(value) ? typeOf(value).name : "unknown";
  throw new Error(`json: unsupported type: ${type}`);
}

function encodeStruct({ fields, json }: GoStruct, options: EncodeOptions, line: string): string {
  const content = json === undefined ? fields : json();
  return isMembers(content) ? encodeObject([...content], false, options, line) : encode(content, options, line);
}

const isMembers = (content: Value | ReadonlyMap<string, Value>): content is ReadonlyMap<string, Value> =>
  content instanceof Map;

function encodeList(list: GoList, options: EncodeOptions, line: string): string {
  if (list.isNil) return "null";
  if (list.type.element?.kind === "uint8") {
    const bytes = Buffer.from(list.items.map((item) => (item instanceof GoInteger ? Number(item.value) : 0)));
    return `"${bytes.toString("base64")}"`;
  }
  return enclose("[", "]", options, line, (inner) => list.items.map((item) => encode(item, options, inner)));
}

function encodeObject(
  entries: readonly (readonly [string | bigint, Value])[],
  sorts: boolean,
  options: EncodeOptions,
  line: string,
): string {
  const named = entries.map(([key, value]) => [String(key), value] as const);
  const ordered = sorts ? named.toSorted(([a], [b]) => compareStrings(a, b)) : named;
  const colon = options.indent === undefined ? ":" : ": ";
  return enclose("{", "}", options, line, (inner) =>
    ordered.map(([key, value]) => `${encodeString(key, options.escapesHtml)}${colon}${encode(value, options, inner)}`),
  );
}

function enclose(
  open: string,
  close: string,
  { indent }: EncodeOptions,
  line: string,
  encodeParts: (inner: string) => readonly string[],
): string {
  const inner = line + (indent ?? "");
  const parts = encodeParts(inner);
  if (indent === undefined || parts.length === 0) return open + parts.join(",") + close;
  return open + inner + parts.join(`,${inner}`) + line + close;
}

function encodeFloat(value: number): string {
  if (!Number.isFinite(value)) {
    const text = Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
    throw new Error(`json: unsupported value: ${text}`);
  }
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude < 1e-6 || magnitude >= 1e21))
    return formatFloat(value, "e", -1).replace(/e-0(\d)$/, "e-$1");
  return formatFloat(value, "f", -1);
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

function encodeString(value: string, escapesHtml: boolean): string {
  const special = escapesHtml ? /[\0-\x1f"\\<>&\u2028\u2029]/g : /[\0-\x1f"\\\u2028\u2029]/g;
  const escaped = value.replace(
    special,
    (character) => escapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `"${Buffer.from(escaped).toString()}"`;
}
