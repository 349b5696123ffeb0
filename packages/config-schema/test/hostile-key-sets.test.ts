import fc from "fast-check";
import { jwksFault } from "@istiod/config-schema";
import { expect, it } from "vitest";
import { hasDuplicateMember } from "../src/validation/jwt/duplicate-members.js";
import { keys } from "./key-set-samples.js";

/** Number of documents. CI runs a sample; `HOSTILE_DOCUMENTS=10000` runs as many. */
const numRuns = Number(process.env["HOSTILE_DOCUMENTS"] ?? 500);

const mebibyte = 1024 * 1024;
const names = fc.constantFrom("keys", "kty", "n", "e", "x", "y", "k", "crv", "alg", "kid", "__proto__");
const scalar = fc.oneof(
  fc.constantFrom("RSA", "EC", "OKP", "oct", "P-256", "Ed25519", "AQAB", "", "RS256", keys.rsa["n"], keys.ec["x"]),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.double(),
  fc.constant(null),
);
const key = fc.oneof(
  fc.dictionary(names, scalar),
  fc.dictionary(names, scalar).map((members) => ({ ...keys.rsa, ...members })),
  fc.dictionary(names, scalar).map((members) => ({ ...keys.ec, ...members })),
  fc.jsonValue(),
);
const document = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.json(),
  fc.array(key, { maxLength: 8 }).map((set) => JSON.stringify({ keys: set })),
  fc
    .tuple(names, fc.jsonValue(), fc.array(key))
    .map(([name, value, set]) => JSON.stringify({ [name]: value, keys: set })),
  fc.tuple(fc.json(), fc.nat(300)).map(([json, at]) => json.slice(0, at)),
);

it("hostile key sets are accepted or have a reason in one short line", () => {
  let accepted = 0;
  fc.assert(
    fc.property(document, (text) => {
      const fault = jwksFault(text);
      if (fault === undefined) {
        accepted++;
        expect(Array.isArray((JSON.parse(text) as { keys: unknown }).keys)).toBe(true);
      } else expect(fault.length).toBeGreaterThan(0);
    }),
    { numRuns },
  );
  expect(accepted).toBeGreaterThan(0);
}, 300_000);

/** Texts of a mebibyte, the longest that istiod fetches. */
const long: Readonly<Record<string, string>> = {
  "members of one object": `{${Array.from({ length: 80_000 }, (_, i) => `"a${i}":1`).join(",")},"keys":[]}`,
  "objects within each other": `${'{"keys":['.repeat(110_000)}${"]}".repeat(30_000)}`,
  "unusable keys": JSON.stringify({ keys: Array.from({ length: 7000 }, () => ({ ...keys.ec, y: keys.ec["x"] })) }),
  "a long modulus": JSON.stringify({ keys: [{ ...keys.rsa, n: "A".repeat(mebibyte) }] }),
  "a long string of escapes": `{"keys":["${"\\u0041".repeat(170_000)}"]}`,
};

it.each(Object.entries(long))("the time that a mebibyte of %s takes is bounded", (_, text) => {
  expect(text.length).toBeGreaterThan(mebibyte / 2);
  const start = process.cpuUsage();
  expect(jwksFault(text)).not.toBeUndefined();
  const { user, system } = process.cpuUsage(start);
  // A check that is quadratic in the text takes minutes.
  expect((user + system) / 1e6).toBeLessThan(15);
});

it("members that occur twice are found wherever they are, and no others", () => {
  for (const text of ['{"a":1,"a":2}', '[{"b":{"c":1,"\\u0063":2}}]', '{"a":{"a":1},"b":[{"x":"}"},{"y":1 , "y" :2}]}'])
    expect([text, hasDuplicateMember(text)]).toEqual([text, true]);
  for (const text of [
    '{"a":"a","b":["a","a"],"c":{"a":1}}',
    '[{"a":1},{"a":1}]',
    '{"a\\"":1,"a":"\\"a\\":"}',
    '"a"',
    "1",
  ])
    expect([text, hasDuplicateMember(text)]).toEqual([text, false]);
  const member = fc.tuple(fc.constantFrom("a", "b", "c", "\\u0061", 'a\\"'), fc.json());
  const object = fc.array(member, { maxLength: 4 }).map((all) => `{${all.map(([n, v]) => `"${n}" : ${v}`).join()}}`);
  let twice = 0;
  fc.assert(
    fc.property(object, (text) => {
      expect(hasDuplicateMember(text)).toBe(hasTwice(text));
      if (hasTwice(text)) twice++;
    }),
    { numRuns: 300 },
  );
  expect(twice).toBeGreaterThan(0);
});

/** Compares with the number of members that are left after parsing. */
function hasTwice(text: string): boolean {
  const count = (value: unknown): number =>
    typeof value !== "object" || value === null
      ? 0
      : Object.values(value).reduce(
          (sum: number, each) => sum + count(each),
          Array.isArray(value) ? 0 : Object.keys(value).length,
        );
  const written = [...text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:?)/g)].filter(([, colon]) => colon === ":").length;
  return count(JSON.parse(text)) !== written;
}
