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
  return verdictOf(pattern).fault;
}

/**
 * Returns the instructions that a pattern counts as: an upper bound of its program's, and at least those whose time it
 * takes to compile a small pattern that is not {@link simplePattern simple}.
 */
export function patternCost(pattern: string): number {
  return Math.max(verdictOf(pattern).size, simplePattern.test(pattern) ? 0 : leastCost);
}

const leastCost = 250;

/** A pattern's fault or the size of its program. */
interface Verdict {
  readonly fault?: string;
  readonly size: number;
}

/** Verdicts of the last patterns: an object's are read several times, and many objects have the same ones. */
const verdicts = new Map<string, Verdict>();
const maxVerdictCharacters = 2_000_000;
let verdictCharacters = 0;

function verdictOf(pattern: string): Verdict {
  const known = verdicts.get(pattern);
  if (known !== undefined) return known;
  const verdict = judge(pattern);
  if (pattern.length > maxRegexLength) return verdict;
  if ((verdictCharacters += pattern.length) > maxVerdictCharacters) {
    verdicts.clear();
    verdictCharacters = pattern.length;
  }
  verdicts.set(pattern, verdict);
  return verdict;
}

function judge(pattern: string): Verdict {
  const reject = (fault: string): Verdict => ({ fault, size: 0 });
  const length = Buffer.byteLength(pattern);
  if (length > maxRegexLength) return reject(`has ${length} bytes, expected at most ${maxRegexLength}`);
  if (simplePattern.test(pattern))
    return { size: fewInstructions + pattern.length + dotSize * (pattern.split(".").length - 1) };
  const escape = wideEscape(pattern);
  if (escape !== undefined) return reject(`has ${escape}, expected the character itself: proxies match bytes`);
  const expanded = expandedLength(pattern);
  if (expanded > maxRegexProgramSize)
    return reject(`has ${expanded} elements with its repetitions, expected at most ${maxRegexProgramSize}`);
  let size: number;
  try {
    size = programSize(pattern, maxRegexProgramSize);
  } catch (cause) {
    return reject(`is not an RE2 pattern: ${reasonOf(cause)}`);
  }
  return size <= maxRegexProgramSize
    ? { size }
    : reject(
        `compiles to a program of more than ${maxRegexProgramSize} instructions, which proxies reject: expected fewer repetitions`,
      );
}

/** Literal characters and dots, each perhaps repeated: valid, and small enough to be known without compiling it. */
const simplePattern = /^(?:(?:[A-Za-z0-9/_ :=&%~@,-]|\\[./+*?-]|\.)[*+?]?){1,512}$/;
/** Instructions of a dot in UTF-8, at most, and those that every program has. */
const dotSize = 24;
const fewInstructions = 6;

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
  return programSize(pattern, limit) <= limit;
}

/** @throws Error if the pattern is not in RE2's syntax */
function programSize(pattern: string, limit: number): number {
  const unknown = unknownUnicodeClass(pattern);
  if (unknown !== undefined) throw new Error(`error parsing regexp: invalid character class range: \`${unknown}\``);
  return maxProgramSize(pattern, encodings, limit);
}

/** Returns an escape sequence of a character beyond Latin-1, which Envoy 1.40 rejects. */
function wideEscape(pattern: string): string | undefined {
  for (const [escape, hexadecimal, octal] of pattern.matchAll(/\\(?:x\{([0-9A-Fa-f]+)\}|([0-7]{1,3})|[^])/g)) {
    const code = hexadecimal === undefined ? Number.parseInt(octal ?? "0", 8) : Number.parseInt(hexadecimal, 16);
    if (code > 0xff) return escape;
  }
  return undefined;
}
