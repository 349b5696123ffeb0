import { parseJwtRule } from "@istiod/ca";
import { expect, it } from "vitest";

const rule = { issuer: "https://issuer.example", audiences: ["istio-ca"] };

it("is a JWTRule in JSON, by the names of JSON or of the proto", () => {
  const defaults = { ...rule, jwksUri: "", jwks: "", timeoutMs: 5000 };
  expect(parseJwtRule(JSON.stringify(rule))).toEqual(defaults);
  const jwksUri = "https://issuer.example/keys";
  for (const uri of [{ jwksUri }, { jwks_uri: jwksUri }])
    expect(parseJwtRule(JSON.stringify({ issuer: "foo", audiences: ["a", "b"], ...uri, timeout: "2s" }))).toEqual({
      issuer: "foo",
      audiences: ["a", "b"],
      jwksUri,
      jwks: "",
      timeoutMs: 2000,
    });
  expect(parseJwtRule(JSON.stringify({ ...rule, jwks: '{"keys": []}' })).jwks).toBe('{"keys": []}');
});

it.each<[string, string | object, RegExp]>([
  ["text that is not JSON", "invalid", /^expected a JWTRule in JSON/],
  ["audiences that are no list", { ...rule, audiences: "istio-ca" }, /^expected a JWTRule in JSON.*audiences/],
  ["an unknown field", { ...rule, audience: ["a"] }, /^expected a JWTRule in JSON.*"audience"/],
  ["no issuer", { audiences: ["a"] }, /^issuer: is required$/],
  ["no audiences", { issuer: rule.issuer }, /^audiences: at least one is required/],
  ["an empty audience", { ...rule, audiences: [""] }, /^audiences: at least one is required/],
  ["keys and their URI", { ...rule, jwks: "{}", jwksUri: "https://a" }, /^jwks: expected either it or jwksUri$/],
  [
    "a URI of another scheme",
    { ...rule, jwksUri: "file:///etc/keys" },
    /^jwksUri: "file:\/\/\/etc\/keys" is not a URL/,
  ],
  ["an issuer whose keys cannot be discovered", { issuer: "foo", audiences: ["a"] }, /^issuer: "foo" is not a URL/],
  ["a place of tokens", { ...rule, fromHeaders: [{ name: "x" }] }, /^fromHeaders: has no effect on callers/],
  ["forwarding", { ...rule, forwardOriginalToken: true }, /^forwardOriginalToken: has no effect on callers/],
])("is rejected with %s", (_, value, message) => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  expect(() => parseJwtRule(text)).toThrow(expect.objectContaining({ code: "malformed" }));
  expect(() => parseJwtRule(text)).toThrow(message);
});
