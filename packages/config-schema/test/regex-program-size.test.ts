import { expect, test } from "vitest";
import { maxProgramSize } from "../src/validation/regex/program-size.js";
import { maxRegexProgramSize, regexFault } from "../src/validation/regex/regex.js";

/** Patterns with the sizes of RE2's own programs (RE2 2024-07-02), for Latin-1 and UTF-8. */
const sizes: readonly (readonly [pattern: string, latin1: number, utf8: number])[] = [
  ["a", 5, 5],
  [".*", 6, 12],
  ["(a*)*", 11, 11],
  ["é", 6, 6],
  ["[^a]", 6, 12],
  ["\\pL", 11, 1200],
  ["\\PL", 11, 1202],
  ["[\\p{L}\\d_]", 13, 1202],
  ["\\p{Han}", 1, 84],
  ["\\pL{1,50}", 403, 59_853],
  ["([^a]|[a-z]|\\PL|\\PL)", 16, 1212],
  ["(?:(?:(?:(?:(?:ß)*?)?){14,32})*)*?", 1159, 1159],
  ["(?:(?:(?:(?:(?:ab)*?)?){1,300})*)*?", 91_207, 91_207],
  ["(?:(?:a?b?c?)?){300}", 2104, 2104],
  ["(a{1,100}){1,9}", 1821, 1821],
];

test.each(sizes)("the bound of %s is not below the size of RE2's program", (pattern, latin1, utf8) => {
  expect(maxProgramSize(pattern, ["latin1"], Infinity)).toBeGreaterThanOrEqual(latin1);
  expect(maxProgramSize(pattern, ["utf8"], Infinity)).toBeGreaterThanOrEqual(utf8);
});

test("patterns of real configurations are accepted", () => {
  for (const pattern of [
    ".*",
    "^/api/v[0-9]+/(users|orders)/[^/]+$",
    "^(.*?;)?(user=jason)(;.*)?$",
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "(?i)[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}",
    "https://(.+\\.)?example\\.(com|org)(:[0-9]{1,5})?",
    "\\p{L}[\\p{L}\\p{N}_-]{0,7}",
    ".{1,1000}",
    "Zürich|東京",
    "a".repeat(1024),
  ])
    expect([pattern, regexFault(pattern)]).toEqual([pattern, undefined]);
});

test("patterns that an Envoy rejects are rejected", () => {
  const large = `compiles to a program of more than ${maxRegexProgramSize} instructions, which proxies reject: expected fewer repetitions`;
  expect(regexFault("\\pL{1,50}")).toBe(large);
  expect(regexFault("(?:(?:(?:(?:(?:ab)*?)?){1,300})*)*?")).toBe(large);
  expect(regexFault(`(?:${"x".repeat(900)}){1000}`)).toBe(
    "has 901000 elements with its repetitions, expected at most 32768",
  );
  expect(regexFault("a".repeat(1025))).toBe("has 1025 bytes, expected at most 1024");
  expect(regexFault("é".repeat(513))).toBe("has 1026 bytes, expected at most 1024");
  expect(regexFault("\\x{4e00}")).toBe("has \\x{4e00}, expected the character itself: proxies match bytes");
  expect(regexFault("\\777")).toBe("has \\777, expected the character itself: proxies match bytes");
  expect(regexFault("\\\\x{4e00}")).toBeUndefined();
  expect(regexFault("a**")).toBe(
    "is not an RE2 pattern: error parsing regexp: invalid nested repetition operator: `**`",
  );
});

test("classes of characters are those of RE2, of which re2js and Go have more", () => {
  for (const name of ["Alphabetic", "Emoji", "Garay", "LC", "^LC", "Cn", "Assigned", "Letter", "greek"])
    expect(regexFault(`a[\\p{${name}}]`)).toContain(
      "is not an RE2 pattern: error parsing regexp: invalid character class",
    );
  for (const pattern of ["\\p{Old_Italic}", "\\P{^Lu}", "[\\pN\\p{Greek}]", "\\p{Any}", "\\\\p{x}", "\\Q\\p{x}\\E"])
    expect([pattern, regexFault(pattern)]).toEqual([pattern, undefined]);
});
