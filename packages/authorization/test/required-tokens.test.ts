import { create } from "@bufbuild/protobuf";
import { type KeyedRule, verifyToken } from "@istiod/authorization";
import {
  JWTRule_JWTRequirement as Requirement,
  JWTRuleSchema,
} from "@istiod/istio-api/security/v1beta1/request_authentication";
import { expect, test } from "vitest";

const rule = (issuer: string, presence: Requirement): KeyedRule => ({
  rule: create(JWTRuleSchema, { issuer, presence }),
  jwks: undefined,
});
const { REQUIRED, OPTIONAL } = Requirement;
const now = 1_700_000_000_000;

/** A token whose signature is not verified, because no keys are known. */
const tokenOf = (iss: string): string =>
  [{ alg: "RS256" }, { iss }, {}].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");

test("a request without the token of a rule that requires it is rejected with 401, also with the token of another", () => {
  const missing = (issuer: string) => ({
    state: "invalid",
    status: 401,
    reason: `a token of issuer "${issuer}" is missing, which its JWT rule requires`,
  });
  expect(verifyToken(undefined, [rule("a", OPTIONAL)], now)).toEqual({ state: "none" });
  expect(verifyToken(undefined, [rule("a", REQUIRED)], now)).toEqual(missing("a"));
  expect(verifyToken(tokenOf("a"), [rule("a", REQUIRED)], now)).toMatchObject({ state: "unverified" });
  const both = [rule("a", OPTIONAL), rule("b", REQUIRED)];
  expect(verifyToken(tokenOf("a"), both, now)).toEqual(missing("b"));
  expect(verifyToken(tokenOf("b"), both, now)).toMatchObject({ state: "unverified", issuer: "b" });
});
