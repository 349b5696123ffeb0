import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const objects = `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: sticky, namespace: shop}
spec:
  host: sticky
  trafficPolicy:
    loadBalancer: {consistentHash: {httpHeaderName: x-user}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: local, namespace: shop}
spec:
  host: local
  trafficPolicy:
    outlierDetection: {consecutive5xxErrors: 2, interval: 200ms, baseEjectionTime: 30s, maxEjectionPercent: 100}
    loadBalancer: {localityLbSetting: {enabled: true, failover: [{from: east, to: north}]}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: uneven, namespace: shop}
spec:
  host: uneven
  trafficPolicy:
    outlierDetection: {consecutive5xxErrors: 3, interval: 200ms, baseEjectionTime: 2s, maxEjectionPercent: 100}
`;

describe("load balancing", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  let broken = true;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      objects,
      workloads: [
        { app: "client", locality: "east/a" },
        ...["v1", "v2", "v3"].map((version) => ({ app: "sticky", version, proxy: "none" as const })),
        { app: "uneven", version: "good", proxy: "none" },
        { app: "uneven", version: "bad", proxy: "none", answer: () => (broken ? { status: 500 } : {}) },
        { app: "local", version: "here", proxy: "none", locality: "east/a" },
        { app: "local", version: "near", proxy: "none", locality: "east/b" },
        { app: "local", version: "north", proxy: "none", locality: "north/a" },
        { app: "local", version: "west", proxy: "none", locality: "west/a" },
      ],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  const versions = async (app: string, calls: number): Promise<(string | undefined)[]> =>
    (await Promise.all(Array.from({ length: calls }, () => mesh.call("client", `http://${app}:8000/`)))).map(
      (a) => a.seen?.version,
    );

  it("sends a user to the same endpoint each time, and users to all of them", async () => {
    const chosen = new Map<string, string | undefined>();
    for (let round = 0; round < 3; round++) {
      for (let user = 0; user < 30; user++) {
        const { seen } = await mesh.call("client", "http://sticky:8000/", { headers: { "x-user": `user-${user}` } });
        if (round === 0) chosen.set(`user-${user}`, seen?.version);
        else expect(seen?.version).toBe(chosen.get(`user-${user}`));
      }
    }
    expect(new Set(chosen.values())).toEqual(new Set(["v1", "v2", "v3"]));
  });

  it("ejects an endpoint that fails, and takes it back", async () => {
    await eventually("the bad endpoint is ejected", async () =>
      (await versions("uneven", 10)).every((v) => v === "good"),
    );
    const asked = mesh.seen("uneven-bad").length;
    expect(await versions("uneven", 20)).toEqual(Array(20).fill("good"));
    expect(mesh.seen("uneven-bad")).toHaveLength(asked);
    broken = false;
    await eventually("the endpoint is taken back", async () => (await versions("uneven", 10)).includes("bad"));
  });

  it("keeps to its locality, and fails over to the zone beside, the region named, and the rest, in this order", async () => {
    for (const place of ["here", "near", "north", "west"]) {
      await eventually(`all calls go to ${place}`, async () => (await versions("local", 10)).every((v) => v === place));
      await mesh.crash(`local-${place}`);
    }
  });

  it("comes from what the proxies accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
