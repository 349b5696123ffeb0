import { create } from "@bufbuild/protobuf";
import { type KeyedRule, verifyToken } from "@istiod/authorization";
import {
  JWTRule_JWTRequirement as Requirement,
  JWTRuleSchema,
} from "@istiod/istio-api/security/v1beta1/request_authentication";
import { UnsecuredJWT } from "jose";
import { expect, test } from "vitest";

const rule = (issuer: string, presence: Requirement): KeyedRule => ({
  rule: create(JWTRuleSchema, { issuer, presence }),
  jwks: undefined,
});
const { REQUIRED, OPTIONAL } = Requirement;
const now = 1_700_000_000_000;

/** A token whose signature is not verified, because no keys are known. */
const tokenOf = (issuer: string): string =>
  new UnsecuredJWT({})
    .setIssuer(issuer)
    .encode()
    .replace(/^[^.]+/, Buffer.from('{"alg":"RS256"}').toString("base64url"));

test("a request without the token of a rule that requires it is rejected with 401, also with the token of another", async () => {
  const missing = (issuer: string) => ({
    state: "invalid",
    status: 401,
    reason: `a token of issuer "${issuer}" is missing, which its JWT rule requires`,
  });
  expect(await verifyToken(undefined, [rule("a", OPTIONAL)], now)).toEqual({ state: "none" });
  expect(await verifyToken(undefined, [rule("a", REQUIRED)], now)).toEqual(missing("a"));
  expect(await verifyToken(tokenOf("a"), [rule("a", REQUIRED)], now)).toMatchObject({ state: "unverified" });
  const both = [rule("a", OPTIONAL), rule("b", REQUIRED)];
  expect(await verifyToken(tokenOf("a"), both, now)).toEqual(missing("b"));
  expect(await verifyToken(tokenOf("b"), both, now)).toMatchObject({ state: "unverified", issuer: "b" });
});
