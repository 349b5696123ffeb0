import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const count = 6000;
const perSlice = 1000;
const port = 9999;

/** Loopback addresses, at which nothing listens. */
const address = (index: number): string => `127.5.${index >> 8}.${index & 255}`;

/** A Service and its EndpointSlices. */
function large(endpoints: number): string {
  const objects: object[] = [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "large", namespace: "shop" },
      spec: {
        clusterIP: "10.1.0.1",
        ports: [{ name: "http", port: 8000, targetPort: port }],
        selector: { app: "large" },
      },
    },
  ];
  for (let first = 0; first < endpoints; first += perSlice)
    objects.push({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: `large-${first}`, namespace: "shop", labels: { "kubernetes.io/service-name": "large" } },
      addressType: "IPv4",
      ports: [{ name: "http", port, protocol: "TCP" }],
      endpoints: Array.from({ length: Math.min(perSlice, endpoints - first) }, (_, index) => ({
        addresses: [address(first + index)],
        conditions: { ready: true, serving: true, terminating: false },
      })),
    });
  return objects.map((object) => JSON.stringify(object)).join("\n---\n");
}

const expected = (endpoints: number): string[] =>
  Array.from({ length: endpoints }, (_, index) => `${address(index)}:${port}`).sort();

describe.each([true, false])("a service with thousands of endpoints, delta: %s", (delta) => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      workloads: [{ app: "client" }, { app: "small", proxy: "none" }],
      objects: large(count),
      delta,
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  /** Returns the endpoints of the service that Envoy's admin interface lists. */
  async function endpoints(): Promise<string[]> {
    const { text } = await mesh.enter("client", "http://envoy:15000/clusters");
    const cluster = "outbound|8000||large.shop.svc.cluster.local::";
    const hosts = text
      .split("\n")
      .filter((line) => line.startsWith(cluster))
      .flatMap((line) => /^(\d+\.\d+\.\d+\.\d+:\d+)::cx_active::/.exec(line.slice(cluster.length))?.[1] ?? []);
    return hosts.sort();
  }

  it("is loaded whole by Envoy, and beside it other services are reached", async () => {
    await eventually("all endpoints are loaded", async () => (await endpoints()).length === count);
    expect(await endpoints()).toEqual(expected(count));
    expect((await mesh.call("client", "http://small:8000/")).seen?.workload).toBe("small");
  });

  it("is changed by one endpoint, by thousands, and back", async () => {
    for (const next of [count - 1, 7, count]) {
      await mesh.apply("objects", large(next));
      await eventually(`${next} endpoints are loaded`, async () => (await endpoints()).length === next);
      expect(await endpoints()).toEqual(expected(next));
    }
    expect((await mesh.call("client", "http://small:8000/")).seen?.workload).toBe("small");
  });

  it("comes from what the proxies accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
