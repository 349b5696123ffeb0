import { AdmissionError } from "./errors.js";

/** A JSON object of unknown content. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Reports whether a value is a JSON object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Parses JSON in UTF-8. Its depth is checked before it is parsed, because programs process values recursively.
 *
 * @throws AdmissionError `malformed`
 */
export function parseJson(bytes: Uint8Array, maxDepth: number): unknown {
  if (exceedsDepth(bytes, maxDepth))
    throw new AdmissionError("malformed", `the body is nested more than ${maxDepth} levels deep`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    throw new AdmissionError("malformed", `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
}

const quote = 0x22;
const backslash = 0x5c;

/** Reports whether JSON nests its objects and lists deeper than a limit. Strings are not counted. */
function exceedsDepth(bytes: Uint8Array, limit: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isInString) {
      if (byte === backslash) at++;
      else if (byte === quote) isInString = false;
    } else if (byte === quote) isInString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > limit) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return false;
}
