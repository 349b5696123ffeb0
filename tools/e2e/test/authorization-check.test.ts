import { findEnvoy } from "@istiod/envoy-binary";
import { claimSubnet, type Subnet, whyNoEnvoy } from "@istiod/e2e";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Callers, createCallers } from "./authorization/callers.js";
import { cases } from "./authorization/cases.js";
import { compare } from "./authorization/compare.js";

const reason = await whyNoEnvoy();

/** Number of cases; long runs set the variable. */
const count = Number(process.env["AUTHORIZATION_CASES"] ?? 160);
const seed = Number(process.env["AUTHORIZATION_SEED"] ?? 1);
const batch = 40;
const normalizations = ["BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES", "NONE"];

describe("the decisions of istiod authz check", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let subnet: Subnet;
  let callers: Callers;
  beforeAll(async () => {
    if (reason !== undefined) return;
    subnet = await claimSubnet();
    callers = await createCallers([201, 202, 203, 206].map((n) => subnet.address(n)));
  }, 60_000);
  afterAll(() => subnet?.release());

  it(
    "are those of a real Envoy with the generated policies, for requests and TCP connections",
    async () => {
      const binary = (await findEnvoy())!;
      const sample = fc.sample(cases(callers), { numRuns: count, seed });
      const total: Record<string, number> = {};
      for (let at = 0; at < sample.length; at += batch) {
        const normalization = normalizations[(at / batch) % normalizations.length]!;
        const of = sample.slice(at, at + batch);
        const { faults, outcomes } = await compare(of, { binary, subnet, callers, normalization });
        expect(faults.slice(0, 20)).toEqual([]);
        for (const [key, n] of Object.entries(outcomes)) total[key] = (total[key] ?? 0) + n;
      }
      for (const key of ["HTTP 200", "HTTP 401", "HTTP 403", "TCP false", "TCP true"])
        expect(total[key] ?? 0, key).toBeGreaterThan(count / 50);
    },
    120_000 + count * 500,
  );
});
