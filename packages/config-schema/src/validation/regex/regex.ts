import { reasonOf } from "@istiod/runtime";
import { unknownUnicodeClass } from "@istiod/settings";
import { RE2JS } from "re2js";
import type { Place } from "../place.js";
import { expandedLength } from "./expanded-length.js";
import { maxProgramSize } from "./program-size.js";

/** Maximum length of a pattern in bytes, as in Istio. */
export const maxRegexLength = 1024;

/**
 * Maximum size of a pattern's program: `re2.max_program_size.error_level` of Istio's bootstrap. Envoy rejects a whole
 * route configuration or listener with a larger one.
 */
export const maxRegexProgramSize = 32_768;

const encodings = ["latin1", "utf8"] as const;

/** Checks a pattern in RE2's syntax, which is matched in linear time. */
export function checkRegex(pattern: string, place: Place): void {
  const fault = regexFault(pattern);
  if (fault !== undefined) place.error(fault);
}

/** Returns the reason why proxies would reject a pattern; undefined if they accept it. */
export function regexFault(pattern: string): string | undefined {
  const length = Buffer.byteLength(pattern);
  if (length > maxRegexLength) return `has ${length} bytes, expected at most ${maxRegexLength}`;
  const escape = wideEscape(pattern);
  if (escape !== undefined) return `has ${escape}, expected the character itself: proxies match bytes`;
  const expanded = expandedLength(pattern);
  if (expanded > maxRegexProgramSize)
    return `has ${expanded} elements with its repetitions, expected at most ${maxRegexProgramSize}`;
  let fits: boolean;
  try {
    fits = isProgramWithin(pattern, maxRegexProgramSize);
  } catch (cause) {
    return `is not an RE2 pattern: ${reasonOf(cause)}`;
  }
  return fits
    ? undefined
    : `compiles to a program of more than ${maxRegexProgramSize} instructions, which proxies reject: expected fewer repetitions`;
}

/**
 * Reports whether a pattern in RE2's syntax matches some part of a text, in time linear in the text. A pattern that is
 * too long or invalid matches nothing.
 */
export function regexMatches(pattern: string, text: string): boolean {
  if (Buffer.byteLength(pattern) > maxRegexLength) return false;
  try {
    return RE2JS.compile(pattern).matcher(text).find();
  } catch {
    return false;
  }
}

/**
 * Reports whether a pattern's program has at most `limit` instructions in every version of Envoy.
 *
 * @throws Error if the pattern is not in RE2's syntax
 */
export function isProgramWithin(pattern: string, limit: number): boolean {
  const unknown = unknownUnicodeClass(pattern);
  if (unknown !== undefined) throw new Error(`error parsing regexp: invalid character class range: \`${unknown}\``);
  return encodings.every((encoding) => maxProgramSize(pattern, encoding, limit) <= limit);
}

/** Returns an escape sequence of a character beyond Latin-1, which Envoy 1.40 rejects. */
function wideEscape(pattern: string): string | undefined {
  for (const [escape, hexadecimal, octal] of pattern.matchAll(/\\(?:x\{([0-9A-Fa-f]+)\}|([0-7]{1,3})|[^])/g)) {
    const code = hexadecimal === undefined ? Number.parseInt(octal ?? "0", 8) : Number.parseInt(hexadecimal, 16);
    if (code > 0xff) return escape;
  }
  return undefined;
}
