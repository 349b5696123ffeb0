import { beforeEach, expect, it } from "vitest";
import { contract } from "./servers.js";

contract("lists", (server) => {
  const path = `/api/v1/namespaces/${server.namespace}/configmaps`;
  const listed = "labelSelector=list%3Dyes";
  const names = (body: { items: { metadata: { name: string } }[] }) => body.items.map(({ metadata }) => metadata.name);

  beforeEach(async () => {
    for (const name of ["a", "b", "c"]) {
      await server.http.post(path, { metadata: { name, labels: { list: "yes", name } } });
    }
  });

  it("returns a consistent snapshot in pages", async () => {
    const first = await server.http.get(`${path}?${listed}&limit=2`);
    expect(first.body).toMatchObject({ kind: "ConfigMapList", apiVersion: "v1" });
    expect(names(first.body)).toEqual(["a", "b"]);
    await server.http.delete(`${path}/c`);
    const token = encodeURIComponent(first.body.metadata.continue);
    const second = await server.http.get(`${path}?${listed}&limit=2&continue=${token}`);
    expect(names(second.body)).toEqual(["c"]);
    expect(second.body.metadata.continue).toBeUndefined();
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  });

  it("omits kind and apiVersion of the items of built-in types", async () => {
    const { body } = await server.http.get(`${path}?${listed}`);
    expect(body.items[0].kind).toBeUndefined();
    expect(body.items[0].apiVersion).toBeUndefined();
  });

  it("lists the objects of an exact resource version", async () => {
    const { body } = await server.http.get(`${path}?${listed}`);
    await server.http.delete(`${path}/b`);
    const { resourceVersion } = body.metadata;
    const exact = await server.http.get(
      `${path}?${listed}&resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`,
    );
    expect(names(exact.body)).toEqual(["a", "b", "c"]);
    expect(exact.body.metadata.resourceVersion).toBe(resourceVersion);
    const current = await server.http.get(
      `${path}?${listed}&resourceVersion=${resourceVersion}&resourceVersionMatch=NotOlderThan`,
    );
    expect(names(current.body)).toEqual(["a", "c"]);
  });

  it.each([
    ["name=a", ["a"]],
    ["name!=a", ["b", "c"]],
    ["name in (a, c)", ["a", "c"]],
    ["name notin (a)", ["b", "c"]],
    ["!absent,name=b", ["b"]],
    ["absent", []],
  ])("selects by labels: %s", async (selector, expected) => {
    const { body } = await server.http.get(`${path}?${listed}%2C${encodeURIComponent(selector)}`);
    expect(names(body)).toEqual(expected);
  });

  it("selects by fields, and rejects others", async () => {
    const { body } = await server.http.get(`${path}?fieldSelector=metadata.name%3Db`);
    expect(names(body)).toEqual(["b"]);
    const rejected = await server.http.get(`${path}?fieldSelector=data.a%3D1`);
    expect(rejected.status).toBe(400);
    expect(rejected.body.reason).toBe("BadRequest");
  });

  it.each([
    ["metadata.name!=a,metadata.name=b", ["b"]],
    // The value is the text none,metadata.name=b.
    ["metadata.name=none\\,metadata.name\\=b", []],
    ["metadata.name!=none\\,metadata.name\\=b,metadata.name=b", ["b"]],
  ])("reads the escapes of values of fields: %s", async (selector, expected) => {
    const { body } = await server.http.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`);
    expect(names(body)).toEqual(expected);
  });

  it.each(["metadata.name=a=b", "metadata.name=a\\b"])(
    "rejects values of fields without escapes: %s",
    async (selector) => {
      const rejected = await server.http.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`);
      expect([rejected.status, rejected.body.reason]).toEqual([400, "BadRequest"]);
    },
  );

  it("selects pods by node", async () => {
    const pods = `/api/v1/namespaces/${server.namespace}/pods`;
    for (const [name, nodeName] of [
      ["on-node-1", "node-1"],
      ["on-node-2", "node-2"],
    ]) {
      const spec = { nodeName, containers: [{ name: "app", image: "app" }] };
      await server.http.post(pods, { metadata: { name }, spec });
    }
    const { body } = await server.http.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1");
    expect(names(body)).toEqual(["on-node-1"]);
  });

  it("rejects combinations of parameters that the API forbids", async () => {
    const match = await server.http.get(`${path}?resourceVersionMatch=Exact`);
    expect(match.status).toBe(422);
    expect(match.body).toMatchObject({ reason: "Invalid", details: { kind: "ListOptions" } });
    const initial = await server.http.get(`${path}?sendInitialEvents=true`);
    expect(initial.status).toBe(422);
  });

  it("answers a resource version of the future with 504", async () => {
    const { status, body } = await server.http.get(
      `${path}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan`,
    );
    expect(status).toBe(504);
    expect(body).toMatchObject({ reason: "Timeout", details: { causes: [{ reason: "ResourceVersionTooLarge" }] } });
  });

  it("answers an expired continue token with 410, and a token for the rest", async () => {
    const first = await server.http.get(`${path}?${listed}&limit=1`);
    await server.http.post(path, { metadata: { generateName: "later-" } });
    await server.faults.compact();
    const token = encodeURIComponent(first.body.metadata.continue);
    const { status, body } = await server.http.get(`${path}?${listed}&limit=5&continue=${token}`);
    expect(status).toBe(410);
    expect(body.reason).toBe("Expired");
    const rest = await server.http.get(`${path}?${listed}&continue=${encodeURIComponent(body.metadata.continue)}`);
    expect(names(rest.body)).toEqual(["b", "c"]);
  });

  it("deletes a collection by selector", async () => {
    const { status } = await server.http.delete(`${path}?labelSelector=name%3Da`);
    expect(status).toBe(200);
    expect(names((await server.http.get(`${path}?${listed}`)).body)).toEqual(["b", "c"]);
  });

  it("answers with JSON where it is accepted, else with 406", async () => {
    const { status, headers } = await server.http.get(path, { accept: "text/csv, application/json" });
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/json");
    const rejected = await server.http.get(path, { accept: "text/csv" });
    expect(rejected.status).toBe(406);
  });

  it.each([
    ["application/json;as=Table;g=meta.k8s.io;v=v2", 406, undefined],
    ["application/json;as=Table;g=meta.k8s.io;v=v2,application/json", 200, "ConfigMapList"],
    ["application/json;as=Unknown;g=meta.k8s.io;v=v1", 406, undefined],
    ["application/json;as=Unknown;g=meta.k8s.io;v=v1, */*;q=0.1", 200, "ConfigMapList"],
    ["application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v2", 406, undefined],
    ["application/json;as=PartialObjectMetadataList;g=other;v=v1,application/json", 200, "ConfigMapList"],
    ["text/csv,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", 200, "PartialObjectMetadataList"],
    ["application/*", 406, undefined],
    ["application/*,*/*", 200, "ConfigMapList"],
  ])("negotiates %s", async (accept, expected, kind) => {
    const { status, body } = await server.http.get(`${path}?${listed}`, { accept });
    expect([status, status === 200 ? body.kind : body.reason]).toEqual([expected, kind ?? "NotAcceptable"]);
  });

  it("compresses large answers", async () => {
    const data = { a: "x".repeat(200_000) };
    await server.http.post(path, { metadata: { name: "large" }, data });
    const { headers, body } = await server.http.get(`${path}/large`, { headers: { "Accept-Encoding": "gzip" } });
    expect(headers["content-encoding"]).toBe("gzip");
    expect(body.data).toEqual(data);
  });

  it("returns only metadata if asked", async () => {
    const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const { body } = await server.http.get(`${path}?${listed}`, { accept });
    expect(body.kind).toBe("PartialObjectMetadataList");
    expect(names(body)).toEqual(["a", "b", "c"]);
  });
});
