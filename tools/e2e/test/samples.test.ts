import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Sample, startSample, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();
const folder = fileURLToPath(new URL("../../../samples/", import.meta.url));
/** The samples whose addresses exist on one machine. The others are in `accepted-by-envoy.test.ts`. */
const names = ["bookinfo"];

describe.each(names)("the sample %s", (name) => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let sample: Sample;
  beforeAll(async () => {
    if (!reason) sample = await startSample(join(folder, name));
  }, 120_000);
  afterAll(() => sample?.close());

  it("is read without warnings", () => {
    expect(sample.lines().filter((l) => l.level !== "info" && l.level !== "debug")).toEqual([]);
  });

  it("is accepted by the Envoy of every workload, resource by resource", async () => {
    const status = await sample.status();
    expect(status).toHaveLength(sample.workloads.length);
    for (const { proxy, resources } of status) {
      for (const [type, { sent, acked, lastError }] of Object.entries(resources ?? {}))
        expect({ proxy, type, acked, lastError }).toEqual({ proxy, type, acked: sent, lastError: undefined });
    }
    expect(sample.refusals()).toEqual([]);
  });
});
