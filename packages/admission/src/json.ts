import { AdmissionError } from "./errors.js";

/** A JSON object of unknown content. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Reports whether a value is a JSON object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Limits of JSON. */
export interface JsonLimits {
  readonly maxDepth: number;
  readonly maxValues: number;
}

/**
 * Parses JSON in UTF-8. Its depth is checked before it is parsed, because programs process values recursively, and the
 * number of its values, which determines the time and memory that it takes.
 *
 * @throws AdmissionError `malformed`, `too-large`
 */
export function parseJson(bytes: Uint8Array, { maxDepth, maxValues }: JsonLimits): unknown {
  const { depth, values } = measure(bytes);
  if (depth > maxDepth) throw new AdmissionError("malformed", `the body is nested more than ${maxDepth} levels deep`);
  if (values > maxValues) throw new AdmissionError("too-large", `the body has more than ${maxValues} values`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    throw new AdmissionError("malformed", `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Returns how deep JSON nests its objects and lists, and how many members and elements these have. */
function measure(bytes: Uint8Array): { readonly depth: number; readonly values: number } {
  let depth = 0;
  let deepest = 0;
  let values = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isInString) {
      if (byte === backslash) at++;
      else if (byte === quote) isInString = false;
    } else if (byte === quote) isInString = true;
    else if (byte === comma) values++;
    else if (byte === 0x7b || byte === 0x5b) {
      values++;
      if (++depth > deepest) deepest = depth;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return { depth: deepest, values };
}
