import { expect, it } from "vitest";
import { contract, eventually } from "./servers.js";

contract("namespaces", (server) => {
  it("have a label with their name, and the service account default", async () => {
    const { body } = await server.http.post("/api/v1/namespaces", { metadata: { name: "labelled" } });
    expect(body).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "labelled" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
    const account = "/api/v1/namespaces/labelled/serviceaccounts/default";
    await eventually(async () => (await server.http.get(account)).status === 200);
    // The service account is created again if it is deleted.
    await server.http.delete(account);
    await eventually(async () => (await server.http.get(account)).status === 200);
  });

  it("end after their objects", async () => {
    const path = "/api/v1/namespaces/ending";
    await server.http.post("/api/v1/namespaces", { metadata: { name: "ending" } });
    await server.http.post(`${path}/configmaps`, { metadata: { name: "held", finalizers: ["example.com/wait"] } });
    await server.http.post(`${path}/configmaps`, { metadata: { name: "free" } });
    const { status, body } = await server.http.delete(path);
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: "Namespace", status: { phase: "Terminating" } });
    await eventually(async () => (await server.http.get(`${path}/configmaps/free`)).status === 404);
    const rejected = await server.http.post(`${path}/configmaps`, { metadata: { name: "late" } });
    expect(rejected.status).toBe(403);
    expect(rejected.body.message).toContain("because it is being terminated");
    expect(rejected.body.details.causes).toMatchObject([{ reason: "NamespaceTerminating" }]);
    expect((await server.http.get(path)).body.status.phase).toBe("Terminating");
    await server.http.mergePatch(`${path}/configmaps/held`, { metadata: { finalizers: null } });
    await eventually(async () => (await server.http.get(path)).status === 404);
  });

  it.each(["default", "kube-system"])("of the system remain: %s", async (name) => {
    const { status, body } = await server.http.delete(`/api/v1/namespaces/${name}`);
    expect(status).toBe(403);
    expect(body).toMatchObject({ reason: "Forbidden", details: { kind: "namespaces", name } });
  });
});
