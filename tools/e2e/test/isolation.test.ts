import { brokenPromises, IsolationRig, randomOf, runSequence, whyNoEnvoy, whyNoProcess } from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = (await whyNoEnvoy()) ?? whyNoProcess();
const sequences = 5;

/** `npm run isolation -w tools/e2e` is the same at full size. */
describe.each(["delta", "sotw"] as const)("resources that a gateway rejects, %s", (variant) => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let rig: IsolationRig;
  beforeAll(async () => {
    if (reason === undefined) rig = await IsolationRig.start({ requestsPerSecond: 50, isDelta: variant === "delta" });
  }, 120_000);
  afterAll(() => rig?.close());

  it("leave every Envoy with exactly the accepted resources, and change nothing for others", async () => {
    const random = randomOf(7);
    const broken: string[] = [];
    const steps: string[] = [];
    for (let n = 0; n < sequences; n++) {
      const result = await runSequence(rig, random);
      steps.push(...result.steps);
      broken.push(...brokenPromises(result).map((promise) => `${result.steps.join(", ")}: ${promise}`));
    }
    expect(broken).toEqual([]);
    expect(steps.filter((step) => step.endsWith("rejected")).length).toBeGreaterThan(0);
    expect(steps).toContain("innocent change");
    expect(await rig.traffic.count()).toBeGreaterThan(0);
  }, 600_000);
});
