import { rotationEvents, RotationRig, rotationFailures, runRotationEvent, whyNoEnvoy, whyNoProcess } from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = (await whyNoEnvoy()) ?? whyNoProcess();

/** `ca-replaced` has the stages of `root-replaced`: `npm run rotation` runs it too, at full size. */
const events = rotationEvents.filter(({ name }) => name !== "ca-replaced");

describe("requests over strict mutual TLS, on kept and new connections, while istiod is killed", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let rig: RotationRig;
  beforeAll(async () => {
    if (reason) return;
    rig = await RotationRig.start({
      requestsPerSecond: 80,
      freshEvery: 4,
      renewalSeconds: 3,
      certificateSeconds: 120,
    });
  }, 120_000);
  afterAll(() => rig?.close());

  it.each(events)(
    "do not fail: $name",
    async (event) => {
      const result = await runRotationEvent(rig, event, {
        requests: 500,
        kills: "first",
        requestsBeforeKill: 30,
        requestsWithoutIstiod: 30,
      });
      expect(rotationFailures(result)).toEqual([]);
      expect(result.traffic.succeeded).toBeGreaterThanOrEqual(500);
    },
    400_000,
  );

  it("were served by configuration that the Envoys accepted", () => {
    expect(rig.mesh.refusals()).toEqual([]);
  });
});
