import { expect, it } from "vitest";
import type { Loose } from "./http.js";
import { contract } from "./servers.js";

contract("server-side apply", (server) => {
  const configMaps = `/api/v1/namespaces/${server.namespace}/configmaps`;
  const services = `/api/v1/namespaces/${server.namespace}/services`;
  const configMap = (name: string, data?: object, metadata: object = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...metadata },
    ...(data !== undefined && { data }),
  });
  const fieldsOf = (object: Loose, manager: string): unknown =>
    object.metadata.managedFields.find((entry: Loose) => entry.manager === manager)?.fieldsV1;

  it("creates an object and records the owner of its fields", async () => {
    const { status, body } = await server.http.apply(`${configMaps}/new`, configMap("new", { a: "1" }), "one");
    expect(status).toBe(201);
    expect(body.metadata.managedFields).toMatchObject([
      {
        manager: "one",
        operation: "Apply",
        apiVersion: "v1",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { "f:a": {} } },
      },
    ]);
  });

  it("does not make the applier the owner of defaults", async () => {
    const service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "defaulted", annotations: {} },
      spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
    };
    const { body } = await server.http.apply(`${services}/defaulted`, service, "one");
    expect(body.spec.externalTrafficPolicy).toBe("Cluster");
    expect(fieldsOf(body, "one")).toEqual({
      "f:metadata": { "f:annotations": {} },
      "f:spec": { "f:type": {}, "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {} } } },
    });
  });

  it("requires a field manager", async () => {
    const contentType = "application/apply-patch+yaml";
    const { status, body } = await server.http.send("PATCH", `${configMaps}/x`, { body: configMap("x"), contentType });
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([{ reason: "FieldValueRequired", field: "fieldManager" }]);
  });

  it("changes nothing if the same configuration is applied again", async () => {
    const first = await server.http.apply(`${configMaps}/same`, configMap("same", { a: "1" }), "one");
    const second = await server.http.apply(`${configMaps}/same`, configMap("same", { a: "1" }), "one");
    expect(second.status).toBe(200);
    expect(second.body).toEqual(first.body);
  });

  it("removes fields that are no longer applied, and keeps those of others", async () => {
    const path = `${configMaps}/removed`;
    await server.http.apply(path, configMap("removed", { a: "1", b: "2" }, { labels: { x: "1" } }), "one");
    await server.http.apply(path, configMap("removed", { b: "2", c: "3" }), "two");
    const { body } = await server.http.apply(path, configMap("removed", { c: "3" }), "one");
    expect(body.data).toEqual({ b: "2", c: "3" });
    expect(body.metadata.labels).toBeUndefined();
    expect(fieldsOf(body, "one")).toEqual({ "f:data": { "f:c": {} } });
    expect(fieldsOf(body, "two")).toEqual({ "f:data": { "f:b": {}, "f:c": {} } });
  });

  it("rejects changes of fields that others own, and names both", async () => {
    const path = `${configMaps}/conflict`;
    await server.http.apply(path, configMap("conflict", { a: "1", b: "1" }), "one");
    const { status, body } = await server.http.apply(path, configMap("conflict", { a: "2" }), "two");
    expect(status).toBe(409);
    expect(body).toMatchObject({
      reason: "Conflict",
      message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
      details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".data.a" }] },
    });
    const both = await server.http.apply(path, configMap("conflict", { a: "2", b: "2" }), "two");
    expect(both.body.message).toBe('Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b');
  });

  it("takes fields over by force", async () => {
    const path = `${configMaps}/force`;
    await server.http.apply(path, configMap("force", { a: "1", b: "1" }), "one");
    const { status, body } = await server.http.apply(path, configMap("force", { a: "2" }), "two", true);
    expect(status).toBe(200);
    expect(body.data).toEqual({ a: "2", b: "1" });
    expect(fieldsOf(body, "one")).toEqual({ "f:data": { "f:b": {} } });
    expect(fieldsOf(body, "two")).toEqual({ "f:data": { "f:a": {} } });
  });

  it("lets an update take fields over without a conflict, and conflicts with it later", async () => {
    const path = `${configMaps}/updated`;
    await server.http.apply(path, configMap("updated", { a: "1" }), "one");
    const { body } = await server.http.send("PATCH", `${path}?fieldManager=editor`, {
      body: { data: { a: "2" } },
      contentType: "application/merge-patch+json",
    });
    expect(fieldsOf(body, "one")).toBeUndefined();
    expect(fieldsOf(body, "editor")).toEqual({ "f:data": { "f:a": {} } });
    const rejected = await server.http.apply(path, configMap("updated", { a: "1" }), "one");
    expect(rejected.status).toBe(409);
    expect(rejected.body.message).toBe('Apply failed with 1 conflict: conflict with "editor" using v1: .data.a');
  });

  it("merges lists by their keys", async () => {
    const path = `${services}/ports`;
    const service = (ports: object[]) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "ports" },
      spec: { ports },
    });
    await server.http.apply(path, service([{ name: "http", port: 80 }]), "one");
    const { status, body } = await server.http.apply(path, service([{ name: "https", port: 443 }]), "two");
    expect(status).toBe(200);
    expect(body.spec.ports.map(({ port }: Loose) => port)).toEqual([80, 443]);
    expect(fieldsOf(body, "two")).toEqual({
      "f:spec": { "f:ports": { 'k:{"port":443,"protocol":"TCP"}': { ".": {}, "f:name": {}, "f:port": {} } } },
    });
    const removed = await server.http.apply(path, service([]), "one");
    expect(removed.body.spec.ports.map(({ port }: Loose) => port)).toEqual([443]);
  });

  it("owns finalizers and labels one by one", async () => {
    const path = `${configMaps}/items`;
    await server.http.apply(
      path,
      configMap("items", undefined, { finalizers: ["example.com/a"], labels: { a: "1" } }),
      "one",
    );
    const metadata = { finalizers: ["example.com/b"], labels: { b: "1" } };
    const { body } = await server.http.apply(path, configMap("items", undefined, metadata), "two");
    expect(body.metadata.finalizers).toEqual(["example.com/a", "example.com/b"]);
    expect(body.metadata.labels).toEqual({ a: "1", b: "1" });
    expect(fieldsOf(body, "two")).toEqual({
      "f:metadata": { "f:finalizers": { 'v:"example.com/b"': {} }, "f:labels": { "f:b": {} } },
    });
    await server.http.mergePatch(path, { metadata: { finalizers: null } });
  });

  it("writes nothing in a dry run", async () => {
    const { status, body } = await server.http.apply(
      `${configMaps}/dry`,
      configMap("dry", { a: "1" }),
      "one&dryRun=All",
    );
    expect(status).toBe(201);
    expect(body.data).toEqual({ a: "1" });
    expect((await server.http.get(`${configMaps}/dry`)).status).toBe(404);
  });

  it("records the owner of a status by its subresource", async () => {
    await server.http.post(services, { metadata: { name: "status" }, spec: { ports: [{ port: 80 }] } });
    const ingress = [{ ip: "192.0.2.1" }];
    const { status, body } = await server.http.apply(
      `${services}/status/status`,
      { apiVersion: "v1", kind: "Service", metadata: { name: "status" }, status: { loadBalancer: { ingress } } },
      "gateway",
    );
    expect(status).toBe(200);
    expect(body.status.loadBalancer.ingress).toMatchObject(ingress);
    expect(body.metadata.managedFields).toContainEqual(
      expect.objectContaining({
        manager: "gateway",
        operation: "Apply",
        subresource: "status",
        fieldsV1: { "f:status": { "f:loadBalancer": { "f:ingress": {} } } },
      }),
    );
  });
});
