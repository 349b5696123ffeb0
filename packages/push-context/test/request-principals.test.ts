import { expect, test } from "vitest";
import { matchesStringPattern, requestPrincipalPattern } from "../src/index.js";

const matches = (value: string, issuer: string, subject: string): boolean => {
  const pattern = requestPrincipalPattern(value);
  return matchesStringPattern(pattern.issuer, issuer) && matchesStringPattern(pattern.subject, subject);
};

test.each([
  ["*", "a", "b", true],
  ["*", "a", "", false],
  ["https://a/b", "https://a", "b", true],
  ["https://a/*", "https://a", "b", true],
  ["https://a/*", "https://a", "", false],
  ["https://a/*", "https://a/", "b", false],
  ["https://a//*", "https://a/", "b", true],
  ["https://*", "https://a", "b", false],
  ["https://*", "https:/", "b", true],
  ["https://a/b*", "https://a", "bc", true],
  ["https://a/b*", "https://a", "c", false],
  ["*/b", "https://a", "b", true],
  ["*/b", "", "b", false],
  ["*a/b", "https://a", "b", true],
  ["*a/b", "https://c", "b", false],
  ["*b", "https://a", "ab", true],
  ["ab*", "abc", "d", true],
  ["ab*", "abc", "", false],
  ["ab", "ab", "", true],
  ["ab", "ab", "c", false],
])("request principal %s: issuer %j, subject %j: %s", (value, issuer, subject, expected) => {
  expect(matches(value, issuer, subject)).toBe(expected);
});
