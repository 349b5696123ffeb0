import { create } from "@bufbuild/protobuf";
import { verifyToken } from "@istiod/authorization";
import { claimSubnet, whyNoEnvoy } from "@istiod/e2e";
import { findEnvoy } from "@istiod/envoy-binary";
import { JWTRuleSchema } from "@istiod/istio-api/security/v1beta1/request_authentication";
import { describe, expect, it } from "vitest";
import { startJwtEnvoy } from "./authorization/jwt-envoy.js";
import { audience, issuer, tokenCases } from "./authorization/token-cases.js";

const reason = await whyNoEnvoy();
const expected = Object.fromEntries(tokenCases.map(({ name, status }) => [name, status]));

describe("tokens and key sets", () => {
  it("are decided by istiod authz check as in the table", () => {
    const found = tokenCases.map(({ name, jwks, token }) => {
      const rule = create(JWTRuleSchema, { issuer, audiences: [audience], jwks });
      const verdict = verifyToken(token, [{ rule, jwks }], Date.now());
      return [name, verdict.state === "invalid" ? verdict.status : verdict.state === "valid" ? 200 : verdict.state];
    });
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  it("are decided by a real Envoy as in the table", async ({ skip }) => {
    skip(reason !== undefined, reason);
    const subnet = await claimSubnet();
    const keySets = [...new Set(tokenCases.map(({ jwks }) => jwks))];
    const envoy = await startJwtEnvoy({
      binary: (await findEnvoy())!,
      address: subnet.address(1),
      keySets,
      issuer,
      audiences: [audience],
    });
    try {
      const found: Record<string, number> = {};
      for (const { name, jwks, token } of tokenCases) found[name] = await envoy.status(keySets.indexOf(jwks), token);
      expect(found).toEqual(expected);
    } finally {
      await envoy.close();
      subnet.release();
    }
  }, 120_000);
});
