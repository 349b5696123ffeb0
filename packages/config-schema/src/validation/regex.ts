import { RE2JS } from "re2js";
import type { Place } from "./place.js";

/** Longest pattern that is taken, in characters: bounds the program that a proxy makes of it. */
export const maxRegexLength = 1024;

/** A pattern in RE2's syntax, which is matched in linear time. */
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
