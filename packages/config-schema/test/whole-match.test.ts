import fc from "fast-check";
import { RE2JS } from "re2js";
import { expect, test } from "vitest";
import { anchoredBeginning, wholeMatch } from "../src/validation/regex/whole-match.js";

const atoms = ["a", "/", "\\?", "\\/", "\\x2F", "\\x{2F}", "\\057", "\\d", "[ab]", ".", "\\Qa?\\E", "(a|b)", "(\\?)"];
const part = fc
  .tuple(fc.constantFrom(...atoms), fc.constantFrom("", "", "?", "*", "+", "{2}", "{0}"))
  .map(([atom, quantifier]) => (atom.startsWith("\\Q") ? atom : atom + quantifier));
const patterns = fc.array(fc.oneof({ weight: 8, arbitrary: part }, fc.constant("|")), { minLength: 1, maxLength: 4 });
const texts = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "/", "?", "1", "x"), maxLength: 4 }), {
  minLength: 100,
  maxLength: 100,
});

test("each text that a pattern matches has what is said of all of them", () => {
  fc.assert(
    fc.property(patterns, texts, (parts, samples) => {
      const pattern = parts.join("");
      const whole = RE2JS.compile(pattern);
      const { literal, firstCharacter, lastCharacter, requiredCharacters } = wholeMatch(pattern);
      for (const text of samples.filter((sample) => whole.matcher(sample).matches())) {
        expect(text).toBe(literal ?? text);
        expect(text[0]).toBe(firstCharacter ?? text[0]);
        expect(text.at(-1)).toBe(lastCharacter ?? text.at(-1));
        expect([...requiredCharacters].filter((character) => !text.includes(character))).toEqual([]);
      }
      const anchored = RE2JS.compile(`^${pattern}`);
      const beginning = anchoredBeginning(`^${pattern}`) ?? "";
      for (const text of samples.filter((sample) => anchored.matcher(sample).find()))
        expect(text.slice(0, beginning.length)).toBe(beginning);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ["/a\\?b", { literal: "/a?b", firstCharacter: "/", lastCharacter: "b" }],
  ["\\x2Fa", { literal: undefined, firstCharacter: undefined, lastCharacter: "a" }],
  ["a\\x2F", { literal: undefined, firstCharacter: "a", lastCharacter: undefined }],
])("%s", (pattern, expected) => {
  expect(wholeMatch(pattern)).toMatchObject(expected);
});

test.each([
  ["^/api/(.*)$", "/api/"],
  ["^\\/api\\/v\\d", "/api/v"],
  ["^/api\\x2Fv1", "/api"],
  ["^\\x2Fapi", ""],
  ["/api", undefined],
])("the beginning of %s", (pattern, beginning) => {
  expect(anchoredBeginning(pattern)).toBe(beginning);
});
