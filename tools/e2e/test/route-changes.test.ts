import { RouteChangesRig, type RouteStage, routeStages, runStage, whyNoEnvoy, whyNoProcess } from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = (await whyNoEnvoy()) ?? whyNoProcess();

/** `npm run route-changes -w tools/e2e` is the same at full size. */
describe("changes of HTTPRoutes", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let rig: RouteChangesRig;
  beforeAll(async () => {
    if (reason === undefined) rig = await RouteChangesRig.start({ routes: 20, requestsPerSecond: 100 });
  }, 60_000);
  afterAll(() => rig?.close());

  it.for(Object.keys(routeStages) as RouteStage[])(
    "are live, and no request to a route that stays fails: %s",
    async (stage) => {
      const { failures, requests } = await runStage(rig, stage, 40);
      expect(failures).toEqual([]);
      expect(requests).toBeGreaterThan(0);
      expect(rig.stolen()).toBe(0);
    },
  );

  it("are all accepted by the Envoy", () => {
    expect(rig.refusals()).toEqual([]);
  });
});
