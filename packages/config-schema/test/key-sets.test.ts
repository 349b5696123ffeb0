import { formatProblem, jwksFault, readText } from "@istiod/config-schema";
import { describe, expect, it } from "vitest";
import { base64url, keys, keySet } from "./key-set-samples.js";

const { rsa, ec } = keys;

function problems(jwks: string): readonly string[] {
  const object = {
    apiVersion: "security.istio.io/v1",
    kind: "RequestAuthentication",
    metadata: { name: "jwt", namespace: "shop" },
    spec: { jwtRules: [{ issuer: "a", jwks }] },
  };
  return readText(JSON.stringify(object), "jwt.yaml").flatMap((reading) =>
    reading.problems.map((problem) => `${problem.severity}: ${formatProblem(problem)}`),
  );
}

const at = "jwt.yaml:1: RequestAuthentication shop/jwt: jwtRules[0].jwks:";

describe("a key set that no proxy can use is rejected with its object", () => {
  it.each([
    ["text that is not JSON", '{"keys":', "is not JSON, expected a JSON Web Key Set"],
    ["no keys at all", '{"keys":[]}', "has no keys, expected at least one"],
    ["another object", "{}", 'is not a JSON Web Key Set, expected {"keys": [...]}'],
    ["keys that are not a list", '{"keys":{}}', 'is not a JSON Web Key Set, expected {"keys": [...]}'],
    ["a single key", JSON.stringify(rsa), 'is a single key, expected a JSON Web Key Set: {"keys": [...]}'],
    [
      "an unknown type",
      keySet({ kty: "RSAA" }),
      'has no key that the proxies can use: keys[0]: kty is "RSAA", expected one of RSA, EC, OKP, oct',
    ],
    [
      "a missing member",
      keySet({ kty: "RSA", e: "AQAB" }),
      "has no key that the proxies can use: keys[0]: n is missing, expected it in a key of type RSA",
    ],
    [
      "a short modulus",
      keySet({ ...rsa, n: base64url(32) }),
      "has no key that the proxies can use: keys[0]: n has 256 bits, must be between 512 and 16384",
    ],
    [
      "another exponent",
      keySet({ ...rsa, e: "BQ" }),
      "has no key that the proxies can use: keys[0]: e must be 3 or 65537, in base64url",
    ],
    [
      "base64 of the other alphabet",
      keySet({ ...rsa, n: `+/${rsa["n"]}` }),
      "has no key that the proxies can use: keys[0]: n is not base64url",
    ],
    [
      "a point off its curve",
      keySet({ ...ec, y: ec["x"] }),
      "has no key that the proxies can use: keys[0]: x and y are not a point on P-256",
    ],
    [
      "an algorithm of another type",
      keySet({ ...rsa, alg: "ES256" }),
      'has no key that the proxies can use: keys[0]: alg is "ES256", expected RS256 or another algorithm for RSA',
    ],
    ["a member given twice", `{"keys":[],"keys":[${JSON.stringify(rsa)}]}`, "has a member twice, expected each once"],
    [
      "a number beyond all bounds",
      `{"a":1e999,"keys":[${JSON.stringify(rsa)}]}`,
      "has a number or a character that JSON cannot exchange",
    ],
    [
      "absurd nesting",
      `{"a":${"[".repeat(99)}${"]".repeat(99)},"keys":[${JSON.stringify(rsa)}]}`,
      "is nested more than 32 levels deep",
    ],
  ])("%s", (_, jwks, message) => {
    expect(jwksFault(jwks)).toBe(message);
    expect(problems(jwks)).toEqual([`error: ${at} ${message}`]);
  });
});

describe("a key set with a usable key is accepted", () => {
  it.each(Object.entries(keys).filter(([name]) => name !== "oct"))("%s", (_, key) =>
    expect(problems(keySet(key))).toEqual([]),
  );

  it("with a warning for each other key", () => {
    expect(problems(keySet(rsa, { kty: "EC", crv: "secp256k1", x: "AA", y: "AA" }, 1))).toEqual([
      `warning: ${at} keys[1] is ignored by the proxies: crv is "secp256k1", expected one of P-256, P-384, P-521`,
      `warning: ${at} keys[2] is ignored by the proxies: is not an object`,
    ]);
  });

  it("with a warning where it holds a secret", () => {
    expect(problems(keySet({ ...rsa, d: "AQAB" }))).toEqual([
      `warning: ${at} keys[0] contains a secret, expected public keys only`,
    ]);
    expect(problems(keySet(keys.oct))).toEqual([`warning: ${at} keys[0] contains a secret, expected public keys only`]);
  });
});
