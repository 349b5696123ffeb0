import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const route = (v1: number, v2: number): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: reviews, namespace: shop}
spec:
  hosts: [reviews]
  http:
  - match: [{headers: {end-user: {exact: jason}}}]
    route: [{destination: {host: reviews, subset: v2}}]
  - route:
    - destination: {host: reviews, subset: v1}
      weight: ${v1}
    - destination: {host: reviews, subset: v2}
      weight: ${v2}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: reviews, namespace: shop}
spec:
  host: reviews
  subsets:
  - name: v1
    labels: {version: v1}
  - name: v2
    labels: {version: v2}
`;

describe.each([
  { variant: "delta", delta: true },
  { variant: "state of the world", delta: false },
])("a route with weights, over $variant xDS", ({ delta }) => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      delta,
      objects: route(90, 10),
      workloads: [{ app: "client" }, { app: "reviews", version: "v1" }, { app: "reviews", version: "v2" }],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  /** Returns the number of calls that each version answered. */
  async function split(calls: number): Promise<Record<string, number>> {
    const counts: Record<string, number> = { v1: 0, v2: 0 };
    for (let n = 0; n < calls; n += 10) {
      for (const { status, seen } of await Promise.all(
        Array.from({ length: 10 }, () => mesh.call("client", "http://reviews:8000/")),
      )) {
        expect(status).toBe(200);
        counts[seen!.version]!++;
      }
    }
    return counts;
  }

  it("sends one request in ten to the second version", async () => {
    const { v2 } = await split(600);
    // Four standard deviations around 60: one run in sixteen thousand fails by chance.
    expect(v2).toBeGreaterThan(30);
    expect(v2).toBeLessThan(90);
  });

  it("sends everything of one user there", async () => {
    for (let n = 0; n < 20; n++) {
      const { seen } = await mesh.call("client", "http://reviews:8000/", { headers: { "end-user": "jason" } });
      expect(seen?.version).toBe("v2");
    }
  });

  it("follows a changed weight without a restart", async () => {
    await mesh.apply("objects", route(20, 80));
    const { v1 } = await split(300);
    expect(v1).toBeGreaterThan(32);
    expect(v1).toBeLessThan(88);
    await mesh.apply("objects", route(0, 100));
    expect(await split(50)).toEqual({ v1: 0, v2: 50 });
  });

  it("was accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
