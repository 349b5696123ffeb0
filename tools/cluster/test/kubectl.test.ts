import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { clusterUnavailable, startCluster } from "@istiod/cluster";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

// Requests of kubectl beyond objects: columns, numbers of replicas, and answers of Pods.

const unavailable = await clusterUnavailable();
const closers: (() => unknown)[] = [];
let client: ApiClient;

beforeAll(async () => {
  if (unavailable !== undefined) return;
  const cluster = await startCluster();
  closers.push(() => cluster.stop());
  client = createApiClient(await parseKubeconfig(cluster.kubeconfig));
  closers.push(() => client.close());
}, 60_000);
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

const core = "/api/v1/namespaces/default";
const apps = "/apis/apps/v1/namespaces/default";
const create = (path: string, object: object): Promise<unknown> =>
  client.json({ method: "POST", path, body: JSON.stringify(object) });
const patch = (path: string, object: object): Promise<unknown> =>
  client.json({ method: "PATCH", path, contentType: "application/merge-patch+json", body: JSON.stringify(object) });

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

/** Returns the names of columns, those of `-o wide` in brackets, and the cells of each row without the age. */
async function tableOf(path: string): Promise<readonly (readonly unknown[])[]> {
  const table = await client.json<Table>({ path, accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
  const names = table.columnDefinitions.map(({ name, priority }) => (priority > 0 ? `[${name}]` : name));
  return [names, ...table.rows.map(({ cells }) => cells.slice(0, -1))];
}

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: app, image: app }] },
});

test("Pods have the columns of a real API server", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const sidecar = { name: "proxy", image: "proxy", restartPolicy: "Always" };
  await create(`${core}/pods`, {
    metadata: { name: "web" },
    spec: { ...template("web").spec, initContainers: [{ name: "init", image: "init" }, sidecar], nodeName: "node-1" },
  });
  const columns = ["Name", "Ready", "Status", "Restarts", "[IP]", "[NODE]", "Age"];
  const running = { running: { startedAt: "2026-01-01T00:00:00Z" } };
  const ended = { terminated: { exitCode: 0, reason: "Completed" } };
  const failed = { waiting: { reason: "CrashLoopBackOff" } };
  const status = (name: string, state: object, rest: object = {}) => ({
    ...{ name, state, image: "", imageID: "", ready: false, restartCount: 0 },
    ...rest,
  });
  const proxy = status("proxy", running, { ready: true, started: true, restartCount: 1 });
  for (const [phase, init, containers, cells] of [
    ["Pending", [status("init", running)], [], ["0/2", "Init:0/2", 0]],
    ["Pending", [status("init", failed, { restartCount: 3 })], [], ["0/2", "Init:CrashLoopBackOff", 0]],
    [
      "Running",
      [status("init", ended), proxy],
      [status("web", failed, { restartCount: 2 })],
      ["1/2", "CrashLoopBackOff", 3],
    ],
    ["Running", [status("init", ended), proxy], [status("web", running, { ready: true })], ["2/2", "Running", 1]],
  ] as const) {
    const change = { phase, podIP: "10.0.0.9", initContainerStatuses: init, containerStatuses: containers };
    await patch(`${core}/pods/web/status`, { status: change });
    expect(await tableOf(`${core}/pods`)).toEqual([columns, ["web", ...cells, "10.0.0.9", "node-1"]]);
  }
});

test("Services and Deployments have theirs, and the other kinds their age", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const ports = [
    { name: "web", port: 80, nodePort: 30080 },
    { name: "dns", port: 53, protocol: "UDP" },
  ];
  await create(`${core}/services`, {
    metadata: { name: "edge" },
    spec: { type: "LoadBalancer", clusterIP: "10.96.7.7", ports },
  });
  await create(`${core}/services`, {
    metadata: { name: "plain" },
    spec: { clusterIP: "10.96.7.8", ports: [{ port: 8080 }] },
  });
  const services = await tableOf(`${core}/services`);
  expect(services[0]).toEqual(["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"]);
  expect(services).toContainEqual(["edge", "LoadBalancer", "10.96.7.7", "<pending>", "80:30080/TCP,53:30000/UDP"]);
  expect(services).toContainEqual(["plain", "ClusterIP", "10.96.7.8", "<none>", "8080/TCP"]);
  await create(`${core}/limitranges`, { metadata: { name: "limits" }, spec: { limits: [] } });
  expect(await tableOf(`${core}/limitranges`)).toEqual([["Name", "Age"], ["limits"]]);
});

test("a Deployment is scaled", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const selector = { matchLabels: { app: "cart" } };
  await create(`${apps}/deployments`, {
    metadata: { name: "cart" },
    spec: { replicas: 2, selector, template: template("cart") },
  });
  const scale = `${apps}/deployments/cart/scale`;
  expect(await client.json({ path: scale })).toMatchObject({
    ...{ kind: "Scale", apiVersion: "autoscaling/v1" },
    spec: { replicas: 2 },
    status: { replicas: 0, selector: "app=cart" },
  });
  await patch(scale, { spec: { replicas: 5 } });
  expect(await client.json({ path: `${apps}/deployments/cart` })).toMatchObject({
    metadata: { generation: 2 },
    spec: { replicas: 5 },
  });
  expect((await tableOf(`${apps}/deployments`))[1]).toEqual(["cart", "0/5", 0, 0]);
  await expect(patch(scale, { spec: { replicas: -1 } })).rejects.toThrow("must not be negative");
});

test("Pods and Services answer through the API server", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const server = createServer(({ method, url, headers }, response) =>
    response.end(`${method} ${url} ${headers.authorization ?? "without credentials"}`),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  await create(`${core}/pods`, { metadata: { name: "here" }, spec: template("here").spec });
  await patch(`${core}/pods/here/status`, { status: { podIP: "127.0.0.1" } });
  await create(`${core}/services`, { metadata: { name: "here" }, spec: { ports: [{ name: "web", port: 80 }] } });
  await create("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
    metadata: { name: "here-1", labels: { "kubernetes.io/service-name": "here" } },
    addressType: "IPv4",
    ports: [{ name: "web", port }],
    endpoints: [{ addresses: ["127.0.0.2"], conditions: { ready: false } }, { addresses: ["127.0.0.1"] }],
  });
  const get = async (path: string, query: Readonly<Record<string, string>> = {}): Promise<string> =>
    await text((await client.send({ path, query })).body);
  const answer = "GET /a/b?c=d without credentials";
  expect(await get(`${core}/pods/here:${port}/proxy/a/b`, { c: "d" })).toBe(answer);
  expect(await get(`${core}/services/here:80/proxy/a/b`, { c: "d" })).toBe(answer);
  expect(await get(`${core}/services/http:here:web/proxy/a/b`, { c: "d" })).toBe(answer);
  expect(await get(`${core}/services/here/proxy/`)).toBe("GET / without credentials");
  await expect(get(`${core}/services/here:81/proxy/`)).rejects.toThrow('no service port "81" found for service "here"');
});
