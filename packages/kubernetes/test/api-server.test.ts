import { type ApiServer, type ApiServerOptions, startApiServer } from "@istiod/kubernetes/testing";
import { afterEach, expect, it } from "vitest";
import { Http } from "./contract/http.js";

let server: ApiServer | undefined;
afterEach(() => server?.stop());

async function start(options: ApiServerOptions = {}): Promise<{ server: ApiServer; http: Http }> {
  server = await startApiServer(options);
  return { server, http: new Http({ url: server.url, token: server.tokens.admin }) };
}

const configMap = (name: string, data = {}) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
const configMaps = "/api/v1/namespaces/default/configmaps";

it("writes and reads objects without HTTP", async () => {
  const { server } = await start();
  const { objects } = server;
  const created = await objects.create(configMap("a", { x: "1" }));
  await objects.update(configMap("a", { x: "2" }));
  await expect(objects.update({ ...created, data: {} })).rejects.toMatchObject({ code: "conflict", status: 409 });
  await objects.apply(configMap("b", { y: "1" }));
  const names = () => objects.list({ apiVersion: "v1", kind: "ConfigMap" }).map(({ metadata }) => metadata.name);
  expect(names()).toEqual(["a", "b"]);
  expect(objects.get({ apiVersion: "v1", kind: "ConfigMap", name: "a" })?.data).toEqual({ x: "2" });
  await objects.delete({ apiVersion: "v1", kind: "ConfigMap", name: "a" });
  expect(names()).toEqual(["b"]);
  expect(server.requests).toEqual([]);
});

it("serves additional types in several versions without a definition", async () => {
  const type = { group: "networking.istio.io", kind: "VirtualService", plural: "virtualservices", namespaced: true };
  const versions = ["v1", "v1beta1"].map((version) => ({ ...type, version }));
  const { server, http } = await start({ types: versions });
  const { body } = await http.post("/apis/networking.istio.io/v1/namespaces/default/virtualservices", {
    metadata: { name: "cart" },
    spec: { hosts: ["cart"] },
  });
  expect(body).toMatchObject({ apiVersion: "networking.istio.io/v1", metadata: { generation: 1 } });
  const old = await http.get("/apis/networking.istio.io/v1beta1/namespaces/default/virtualservices/cart");
  expect(old.body).toMatchObject({ apiVersion: "networking.istio.io/v1beta1", spec: { hosts: ["cart"] } });
  await server.objects.updateStatus({ ...body, status: { ready: true } });
  expect(server.objects.list(old.body)).toMatchObject([{ status: { ready: true }, metadata: { generation: 1 } }]);
});

it("records requests without credentials", async () => {
  const { server, http } = await start();
  await http.get(`${configMaps}?limit=5`);
  (await http.watch(configMaps)).close();
  expect(server.requests).toMatchObject([
    { method: "GET", path: configMaps, query: { limit: "5" }, isWatch: false },
    { method: "GET", path: configMaps, query: { watch: "1" }, isWatch: true },
  ]);
  expect(JSON.stringify(server.requests)).not.toContain(server.tokens.admin);
});

it("accepts recorded objects that a real server rejects, if it is told to", async () => {
  const recorded = [
    { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: { containers: [{ name: "app" }] } },
    { apiVersion: "v1", kind: "Service", metadata: { name: "b" }, spec: { clusterIP: "192.0.2.1", ports: [] } },
  ];
  const strict = (await start()).server;
  for (const object of recorded) await expect(strict.objects.create(object)).rejects.toMatchObject({ status: 422 });
  await strict.stop();
  const { server } = await start({ validation: false });
  const [, service] = await Promise.all(recorded.map((object) => server.objects.create(object)));
  expect(service?.spec).toMatchObject({ clusterIP: "192.0.2.1", clusterIPs: ["192.0.2.1"] });
});

it("authenticates users by token, and denies what no role grants unless all is allowed", async () => {
  const users = { secret: { username: "jane", groups: ["developers"] } };
  const { http } = await start({ users });
  const denied = await http.get(configMaps, { token: "secret" });
  expect(denied.status).toBe(403);
  expect(denied.body.message).toContain('User "jane" cannot list resource "configmaps"');
  expect((await http.get("/api", { token: "secret" })).status).toBe(200);
  expect((await http.get(configMaps, { token: "" })).status).toBe(401);
  await server?.stop();
  const open = await start({ users, authorization: "allow-all" });
  expect((await open.http.get(configMaps, { token: "secret" })).status).toBe(200);
  expect((await open.http.get(configMaps, { token: "other" })).status).toBe(401);
});

it("sends bookmarks with the current resource version", async () => {
  const { server, http } = await start({ bookmarkIntervalMs: 20 });
  const watch = await http.watch(configMaps, { allowWatchBookmarks: "true" });
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "other-type" } };
  const { metadata } = await server.objects.create(secret);
  for (;;) {
    const [bookmark] = await watch.next(1);
    expect(bookmark).toMatchObject({ type: "BOOKMARK", object: { kind: "ConfigMap" } });
    if (bookmark?.object.metadata.resourceVersion === metadata.resourceVersion) break;
  }
  watch.close();
});

it("does not execute requests whose connection was dropped while it was frozen", async () => {
  const { server, http } = await start();
  await server.faults.freeze();
  const dropped = http.post(configMaps, configMap("dropped")).catch((error: Error) => error);
  await expect.poll(() => server.faults.dropConnections("abort", { pathPrefix: configMaps })).toBe(1);
  expect(await dropped).toMatchObject({ code: "ECONNRESET" });
  const waiting = http.post(configMaps, configMap("waiting"));
  await server.faults.thaw();
  expect((await waiting).status).toBe(201);
  const names = server.objects.list({ apiVersion: "v1", kind: "ConfigMap" }).map(({ metadata }) => metadata.name);
  expect(names).toEqual(["waiting"]);
});

it("deletes the content of a namespace before the namespace", async () => {
  const { server, http } = await start({ namespaces: ["shop"] });
  await server.objects.create({
    ...configMap("a"),
    metadata: { name: "a", namespace: "shop", finalizers: ["example.com/a"] },
  });
  const { body } = await http.delete("/api/v1/namespaces/shop");
  expect(body).toMatchObject({ status: { phase: "Terminating" } });
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "a", namespace: "shop" };
  await expect.poll(() => server.objects.get(reference)?.metadata.deletionTimestamp).toBeDefined();
  const rejected = await http.post("/api/v1/namespaces/shop/configmaps", { metadata: { name: "b" } });
  expect(rejected.status).toBe(403);
  await http.mergePatch("/api/v1/namespaces/shop/configmaps/a", { metadata: { finalizers: null } });
  await expect.poll(async () => (await http.get("/api/v1/namespaces/shop")).status).toBe(404);
});
