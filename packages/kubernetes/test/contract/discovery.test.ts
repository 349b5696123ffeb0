import { expect, it } from "vitest";
import type { Loose } from "./http.js";
import { contract } from "./servers.js";

contract("discovery", (server) => {
  it("lists the groups and their versions", async () => {
    expect((await server.http.get("/api")).body).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
    const { body } = await server.http.get("/apis");
    expect(body.kind).toBe("APIGroupList");
    const apps = body.groups.find(({ name }: Loose) => name === "apps");
    expect(apps).toMatchObject({
      name: "apps",
      versions: [{ groupVersion: "apps/v1", version: "v1" }],
      preferredVersion: { groupVersion: "apps/v1", version: "v1" },
    });
  });

  it("lists the resources of a version", async () => {
    const { body } = await server.http.get("/api/v1");
    expect(body).toMatchObject({ kind: "APIResourceList", groupVersion: "v1" });
    const names = body.resources.map(({ name }: Loose) => name);
    expect(names).toEqual(expect.arrayContaining(["pods", "pods/status", "services", "secrets"]));
    const pods = body.resources.find(({ name }: Loose) => name === "pods");
    expect(pods).toMatchObject({ singularName: "pod", namespaced: true, kind: "Pod" });
    expect(pods.verbs).toEqual(expect.arrayContaining(["create", "get", "list", "patch", "update", "watch"]));
  });

  it("describes all groups in one document", async () => {
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    const { body, headers } = await server.http.get("/apis", { accept });
    expect(headers["content-type"]).toContain("as=APIGroupDiscoveryList");
    expect(body).toMatchObject({ kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2" });
    const apps = body.items.find(({ metadata }: Loose) => metadata.name === "apps");
    const deployments = apps.versions[0].resources.find(({ resource }: Loose) => resource === "deployments");
    expect(deployments).toMatchObject({
      // Empty: the same as of the group and version around it.
      responseKind: { group: "", version: "", kind: "Deployment" },
      scope: "Namespaced",
      singularResource: "deployment",
    });
  });

  it("reports its version and health", async () => {
    const { body } = await server.http.get("/version");
    expect(body).toMatchObject({ major: "1", gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/) });
    expect((await server.http.get("/readyz")).text).toBe("ok");
  });

  it("answers unknown paths with 404", async () => {
    for (const path of ["/apis/example.org/v1/things", "/api/v1/things", "/unknown"]) {
      expect((await server.http.get(path)).status).toBe(404);
    }
  });

  it("answers unsupported methods with 405", async () => {
    const { status, body } = await server.http.put("/api/v1/configmaps", {});
    expect(status).toBe(405);
    expect(body).toMatchObject({ kind: "Status", reason: "MethodNotAllowed", code: 405 });
  });
});
