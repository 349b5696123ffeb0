import { afterAll, beforeAll, expect, test } from "vitest";
import { clusterUnavailable, type DefinedCluster, startDefinedCluster } from "./defined-cluster.js";
import { ruleCases } from "./rule-cases.js";

const unavailable = await clusterUnavailable();
let cluster: DefinedCluster;

beforeAll(async () => {
  if (unavailable === undefined) cluster = await startDefinedCluster();
}, 120_000);
afterAll(() => cluster?.stop());

test.for(ruleCases)("$kind: $reason", async ({ apiVersion, kind, accepted, rejected, reason }, context) => {
  context.skip(unavailable !== undefined, unavailable);
  const object = (spec: object) => ({ apiVersion, kind, metadata: {}, spec });
  expect(await cluster.rejection(object(accepted))).toBeUndefined();
  expect(await cluster.rejection(object(rejected))).toContain(reason);
});
