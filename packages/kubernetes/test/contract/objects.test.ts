import { expect, it } from "vitest";
import { contract } from "./servers.js";

contract("objects", (server) => {
  const path = `/api/v1/namespaces/${server.namespace}/configmaps`;
  const configMap = (name: string, data: Record<string, string> = {}) => ({ metadata: { name }, data });

  it("creates an object with what the server sets", async () => {
    const { status, body } = await server.http.post(path, configMap("created", { a: "1" }));
    expect(status).toBe(201);
    expect(body).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", data: { a: "1" } });
    const { uid, creationTimestamp, resourceVersion, namespace, managedFields } = body.metadata;
    expect(namespace).toBe(server.namespace);
    expect(uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(resourceVersion).toMatch(/^\d+$/);
    expect(managedFields).toMatchObject([{ operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1" }]);
    expect((await server.http.get(`${path}/created`)).body).toEqual(body);
  });

  it("generates names", async () => {
    const { status, body } = await server.http.post(path, { metadata: { generateName: "prefix-" } });
    expect(status).toBe(201);
    expect(body.metadata.name).toMatch(/^prefix-[a-z0-9]{5}$/);
  });

  it("rejects a second object of the same name", async () => {
    await server.http.post(path, configMap("twice"));
    const { status, body } = await server.http.post(path, configMap("twice"));
    expect(status).toBe(409);
    expect(body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'configmaps "twice" already exists',
      reason: "AlreadyExists",
      details: { name: "twice", kind: "configmaps" },
      code: 409,
    });
  });

  it("answers an absent object with a Status", async () => {
    const { status, body } = await server.http.get(`${path}/absent`);
    expect(status).toBe(404);
    expect(body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'configmaps "absent" not found',
      reason: "NotFound",
      details: { name: "absent", kind: "configmaps" },
      code: 404,
    });
  });

  it("updates an object only from its current version", async () => {
    const { body: created } = await server.http.post(path, configMap("updated", { a: "1" }));
    const { status, body } = await server.http.put(`${path}/updated`, { ...created, data: { a: "2" } });
    expect(status).toBe(200);
    expect(Number(body.metadata.resourceVersion)).toBeGreaterThan(Number(created.metadata.resourceVersion));
    expect(body.metadata.uid).toBe(created.metadata.uid);
    const stale = await server.http.put(`${path}/updated`, { ...created, data: { a: "3" } });
    expect(stale.status).toBe(409);
    expect(stale.body).toMatchObject({ reason: "Conflict", details: { name: "updated", kind: "configmaps" } });
    expect(stale.body.message).toBe(
      'Operation cannot be fulfilled on configmaps "updated": the object has been modified; ' +
        "please apply your changes to the latest version and try again",
    );
  });

  it("keeps the resource version if nothing changes", async () => {
    const { body: created } = await server.http.post(path, configMap("unchanged", { a: "1" }));
    const { body } = await server.http.put(`${path}/unchanged`, created);
    expect(body.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    const patched = await server.http.mergePatch(`${path}/unchanged`, { data: { a: "1" } });
    expect(patched.body.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
  });

  it("deletes an object, once", async () => {
    const { body: created } = await server.http.post(path, configMap("deleted"));
    const { status, body } = await server.http.delete(`${path}/deleted`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "deleted", kind: "configmaps", uid: created.metadata.uid },
    });
    expect((await server.http.delete(`${path}/deleted`)).status).toBe(404);
  });

  it("deletes only the object of the preconditions", async () => {
    const { body: created } = await server.http.post(path, configMap("preconditions"));
    const rejected = await server.http.delete(`${path}/preconditions`, { preconditions: { uid: "another" } });
    expect(rejected.status).toBe(409);
    expect(rejected.body.reason).toBe("Conflict");
    const { uid, resourceVersion } = created.metadata;
    const { status } = await server.http.delete(`${path}/preconditions`, { preconditions: { uid, resourceVersion } });
    expect(status).toBe(200);
  });

  it("keeps an object until its last finalizer is removed", async () => {
    await server.http.post(path, { metadata: { name: "finalized", finalizers: ["test.istio.io/wait"] } });
    const { status, body } = await server.http.delete(`${path}/finalized`);
    expect(status).toBe(200);
    expect(body.metadata.deletionTimestamp).toBeDefined();
    expect((await server.http.get(`${path}/finalized`)).status).toBe(200);
    await server.http.mergePatch(`${path}/finalized`, { metadata: { finalizers: null } });
    expect((await server.http.get(`${path}/finalized`)).status).toBe(404);
  });

  it("rejects names that are no DNS subdomains", async () => {
    const { status, body } = await server.http.post(path, configMap("Not_A_Name"));
    expect(status).toBe(422);
    expect(body).toMatchObject({
      reason: "Invalid",
      details: {
        name: "Not_A_Name",
        kind: "ConfigMap",
        causes: [{ reason: "FieldValueInvalid", field: "metadata.name" }],
      },
    });
  });

  it("rejects objects in a namespace that does not exist", async () => {
    const { status, body } = await server.http.post("/api/v1/namespaces/absent/configmaps", configMap("a"));
    expect(status).toBe(404);
    expect(body).toMatchObject({ reason: "NotFound", details: { name: "absent", kind: "namespaces" } });
  });

  it("writes nothing in a dry run", async () => {
    const { status, body } = await server.http.post(`${path}?dryRun=All`, configMap("dry", { a: "1" }));
    expect(status).toBe(201);
    expect(body.metadata.uid).toBeDefined();
    expect((await server.http.get(`${path}/dry`)).status).toBe(404);
  });
});
