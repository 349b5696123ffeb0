import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually, type Mesh, startMesh, whyNoEnvoy, whyNoProcess } from "@istiod/e2e";

const reason = (await whyNoEnvoy()) ?? whyNoProcess();

const route = (status: number): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: teapot, namespace: shop}
spec:
  hosts: [teapot.example]
  http:
  - directResponse: {status: ${status}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: teapot, namespace: shop}
spec:
  hosts: [teapot.example]
  ports: [{number: 8000, name: http, protocol: HTTP}]
  resolution: STATIC
  endpoints: [{address: 192.0.2.1}]
`;

describe.each([
  { variant: "delta", delta: true },
  { variant: "state of the world", delta: false },
])("istiod killed and started again, over $variant xDS", ({ delta }) => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      delta,
      istiod: "process",
      objects: route(418),
      workloads: [{ app: "client" }, { app: "cart" }],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  it("fails no request, and sends nothing again that did not change", async () => {
    const failures: unknown[] = [];
    let requests = 0;
    let over = false;
    const traffic = (async () => {
      while (!over) {
        const { status } = await mesh
          .call("client", "http://cart:8000/")
          .catch((error: unknown) => (failures.push(error), { status: 0 }));
        if (status !== 200) failures.push(status);
        requests++;
      }
    })();
    const modified = async (): Promise<number[]> =>
      Promise.all(
        ["client", "cart"].flatMap((w) =>
          [
            "cluster_manager.cluster_modified",
            "listener_manager.listener_modified",
            "cluster_manager.cluster_added",
            "listener_manager.listener_added",
          ].map((s) => mesh.stat(w, s)),
        ),
      );
    const before = await modified();
    await mesh.istiod.kill();
    const without = requests;
    await eventually("requests are answered while istiod is away", () => requests > without + 50);
    await mesh.istiod.start();
    await eventually(
      "both proxies are back",
      () =>
        new Set(
          mesh
            .lines()
            .filter((l) => l.msg === "connected")
            .map((l) => l.proxy),
        ).size === 2,
      60_000,
    );
    const back = requests;
    await eventually("requests are answered since", () => requests > back + 50);
    over = true;
    await traffic;
    expect(failures).toEqual([]);
    expect(await modified()).toEqual(before);
    if (delta) expect(mesh.lines().filter((l) => l.msg === "pushed" && l.resources !== 0)).toEqual([]);
  }, 120_000);

  it("serves what changed since", async () => {
    expect((await mesh.call("client", "http://teapot.example:8000/")).status).toBe(418);
    await mesh.apply("objects", route(503));
    await eventually(
      "the change is in force",
      async () => (await mesh.call("client", "http://teapot.example:8000/")).status === 503,
    );
    expect(mesh.refusals()).toEqual([]);
  }, 60_000);
});
