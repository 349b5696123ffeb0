import { RE2JS } from "re2js";
import type { Place } from "./place.js";

/** Maximum length of a pattern in characters, which bounds the program that a proxy compiles. */
export const maxRegexLength = 1024;

/** Checks a pattern in RE2's syntax, which is matched in linear time. */
export function checkRegex(pattern: string, place: Place): void {
  if (pattern.length > maxRegexLength) {
    place.error(`has ${pattern.length} characters, expected at most ${maxRegexLength}`);
    return;
  }
  try {
    RE2JS.compile(pattern);
  } catch (cause) {
    place.error(`is no RE2 pattern: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
