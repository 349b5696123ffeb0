import { expect, it } from "vitest";
import { contract } from "./servers.js";

contract("patches", (server) => {
  const configMaps = `/api/v1/namespaces/${server.namespace}/configmaps`;
  const deployments = `/apis/apps/v1/namespaces/${server.namespace}/deployments`;
  const deployment = (name: string, containers: object[]) => ({
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers } },
    },
  });

  it("applies JSON patches", async () => {
    await server.http.post(configMaps, { metadata: { name: "json" }, data: { a: "1", b: "2" } });
    const { status, body } = await server.http.jsonPatch(`${configMaps}/json`, [
      { op: "test", path: "/data/a", value: "1" },
      { op: "replace", path: "/data/a", value: "3" },
      { op: "remove", path: "/data/b" },
      { op: "add", path: "/metadata/labels", value: { "example.com/name": "x" } },
    ]);
    expect(status).toBe(200);
    expect(body.data).toEqual({ a: "3" });
    expect(body.metadata.labels).toEqual({ "example.com/name": "x" });
  });

  it("rejects a JSON patch whose test fails", async () => {
    await server.http.post(configMaps, { metadata: { name: "tested" }, data: { a: "1" } });
    const { status, body } = await server.http.jsonPatch(`${configMaps}/tested`, [
      { op: "test", path: "/data/a", value: "2" },
      { op: "remove", path: "/data/a" },
    ]);
    expect(status).toBe(422);
    expect(body.reason).toBe("Invalid");
    expect((await server.http.get(`${configMaps}/tested`)).body.data).toEqual({ a: "1" });
  });

  it("applies merge patches, where null removes", async () => {
    await server.http.post(configMaps, { metadata: { name: "merged" }, data: { a: "1", b: "2" } });
    const { body } = await server.http.mergePatch(`${configMaps}/merged`, { data: { a: null, c: "3" } });
    expect(body.data).toEqual({ b: "2", c: "3" });
  });

  it("rejects a merge patch with a stale resource version", async () => {
    const { body } = await server.http.post(configMaps, { metadata: { name: "stale" } });
    await server.http.mergePatch(`${configMaps}/stale`, { data: { a: "1" } });
    const { resourceVersion } = body.metadata;
    const rejected = await server.http.mergePatch(`${configMaps}/stale`, {
      metadata: { resourceVersion },
      data: { a: "2" },
    });
    expect(rejected.status).toBe(409);
    expect(rejected.body.reason).toBe("Conflict");
  });

  it("applies strategic merge patches: lists with keys are merged", async () => {
    const containers = [
      { name: "app", image: "app:1" },
      { name: "other", image: "other:1" },
    ];
    await server.http.post(deployments, deployment("strategic", containers));
    const { status, body } = await server.http.send("PATCH", `${deployments}/strategic`, {
      body: { spec: { template: { spec: { containers: [{ name: "app", image: "app:2" }] } } } },
      contentType: "application/strategic-merge-patch+json",
    });
    expect(status).toBe(200);
    const images = body.spec.template.spec.containers.map(({ image }: { image: string }) => image);
    expect(images).toEqual(["app:2", "other:1"]);
  });

  it("rejects patches of other media types", async () => {
    await server.http.post(configMaps, { metadata: { name: "media" } });
    const { status, body } = await server.http.send("PATCH", `${configMaps}/media`, { body: {} });
    expect(status).toBe(415);
    expect(body.reason).toBe("UnsupportedMediaType");
  });

  it("separates the status from the specification, and counts generations", async () => {
    const containers = [{ name: "app", image: "app:1" }];
    const { body: created } = await server.http.post(deployments, {
      ...deployment("status", containers),
      status: { replicas: 7 },
    });
    expect(created.metadata.generation).toBe(1);
    expect(created.status).toEqual({});
    const status = { ...created, spec: { ...created.spec, replicas: 5 }, status: { replicas: 3 } };
    const { body: updated } = await server.http.put(`${deployments}/status/status`, status);
    expect(updated.status.replicas).toBe(3);
    expect(updated.spec.replicas).toBe(1);
    expect(updated.metadata.generation).toBe(1);
    const { body: scaled } = await server.http.mergePatch(`${deployments}/status`, {
      spec: { replicas: 2 },
      status: { replicas: 9 },
    });
    expect(scaled.status.replicas).toBe(3);
    expect(scaled.metadata.generation).toBe(2);
    const { body: labelled } = await server.http.mergePatch(`${deployments}/status`, {
      metadata: { labels: { a: "b" } },
    });
    expect(labelled.metadata.generation).toBe(2);
  });
});
