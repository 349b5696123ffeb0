import { beforeEach, expect, it } from "vitest";
import type { Loose } from "./http.js";
import { contract } from "./servers.js";

const apiAudience = "https://kubernetes.default.svc.cluster.local";

contract("service account tokens", (server) => {
  const inNamespace = `/api/v1/namespaces/${server.namespace}`;
  const tokens = `${inNamespace}/serviceaccounts/bound/token`;
  const username = `system:serviceaccount:${server.namespace}:bound`;
  const pod = (name: string, spec: object = {}) => ({
    metadata: { name },
    spec: { serviceAccountName: "bound", containers: [{ name: "app", image: "app:1" }], ...spec },
  });
  const podRef = (name: string, uid?: string) => ({ apiVersion: "v1", kind: "Pod", name, ...(uid && { uid }) });
  const claimsOf = (token: string): Loose => JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
  const review = async (token: string, audiences?: readonly string[]): Promise<Loose> => {
    const spec = { token, ...(audiences !== undefined && { audiences }) };
    const { status, body } = await server.http.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec });
    expect(status).toBe(201);
    return body.status;
  };

  beforeEach(async () => {
    await server.http.post(`${inNamespace}/serviceaccounts`, { metadata: { name: "bound" } });
  });

  it("are for the API server and an hour by default", async () => {
    const { status, body } = await server.http.post(tokens, {});
    expect(status).toBe(201);
    expect(body.spec).toMatchObject({ audiences: [apiAudience], expirationSeconds: 3600 });
    expect(body.metadata).toMatchObject({ name: "bound", namespace: server.namespace });
    const claims = claimsOf(body.status.token);
    expect(claims).toMatchObject({ sub: username, aud: [apiAudience] });
    expect(claims.exp - claims.iat).toBe(3600);
    expect(Date.parse(body.status.expirationTimestamp) / 1000).toBe(claims.exp);
    const reviewed = await review(body.status.token);
    expect(reviewed).toMatchObject({ authenticated: true, audiences: [apiAudience], user: { username } });
    expect(reviewed.user.groups).toEqual([
      "system:serviceaccounts",
      `system:serviceaccounts:${server.namespace}`,
      "system:authenticated",
    ]);
    expect(reviewed.user.extra["authentication.kubernetes.io/credential-id"]).toEqual([`JTI=${claims.jti}`]);
  });

  it("name the pod that they are bound to, and its node", async () => {
    const { body: node } = await server.http.post("/api/v1/nodes", { metadata: { name: "node-of-token" } });
    const { body: created } = await server.http.post(
      `${inNamespace}/pods`,
      pod("on-node", { nodeName: "node-of-token" }),
    );
    const { uid } = created.metadata;
    const { status, body } = await server.http.post(tokens, {
      spec: { audiences: ["istio-ca"], boundObjectRef: podRef("on-node", uid) },
    });
    expect(status).toBe(201);
    expect(claimsOf(body.status.token)["kubernetes.io"]).toMatchObject({
      namespace: server.namespace,
      pod: { name: "on-node", uid },
      node: { name: "node-of-token", uid: node.metadata.uid },
    });
    const { authenticated, user } = await review(body.status.token, ["istio-ca"]);
    expect(authenticated).toBe(true);
    expect(user.extra).toMatchObject({
      "authentication.kubernetes.io/pod-name": ["on-node"],
      "authentication.kubernetes.io/pod-uid": [uid],
      "authentication.kubernetes.io/node-name": ["node-of-token"],
      "authentication.kubernetes.io/node-uid": [node.metadata.uid],
    });
  });

  it("end with their pod, also if another one takes its name", async () => {
    await server.http.post(`${inNamespace}/pods`, pod("recreated"));
    const { body } = await server.http.post(tokens, {
      spec: { audiences: ["istio-ca"], boundObjectRef: podRef("recreated") },
    });
    const isAuthenticated = async (): Promise<boolean> =>
      (await review(body.status.token, ["istio-ca"])).authenticated === true;
    expect(await isAuthenticated()).toBe(true);
    await server.http.delete(`${inNamespace}/pods/recreated`);
    await expect.poll(isAuthenticated, { timeout: 20_000 }).toBe(false);
    const { status } = await server.http.post(`${inNamespace}/pods`, pod("recreated"));
    expect(status).toBe(201);
    expect(await isAuthenticated()).toBe(false);
  });

  it("end with the secret that they are bound to", async () => {
    await server.http.post(`${inNamespace}/secrets`, { metadata: { name: "bound" } });
    const { body } = await server.http.post(tokens, {
      spec: { boundObjectRef: { apiVersion: "v1", kind: "Secret", name: "bound" } },
    });
    const { token } = body.status;
    expect((await server.http.get("/api", { token })).status).toBe(200);
    await server.http.delete(`${inNamespace}/secrets/bound`);
    await expect.poll(async () => (await server.http.get("/api", { token })).status, { timeout: 20_000 }).toBe(401);
  });

  it("are bound only to the pod with the given UID, of the same service account", async () => {
    await server.http.post(`${inNamespace}/pods`, pod("mine"));
    await server.http.post(`${inNamespace}/pods`, pod("of-another", { serviceAccountName: "another" }));
    const bind = (boundObjectRef: object) => server.http.post(tokens, { spec: { boundObjectRef } });
    const recreated = await bind(podRef("mine", "00000000-0000-0000-0000-000000000000"));
    expect(recreated.status).toBe(409);
    expect(recreated.body.message).toContain(
      "the UID in the bound object reference (00000000-0000-0000-0000-000000000000) does not match the UID in record",
    );
    const foreign = await bind(podRef("of-another"));
    expect(foreign.status).toBe(400);
    expect(foreign.body.message).toBe(
      'cannot bind token for serviceaccount "bound" to pod running with different serviceaccount name.',
    );
    expect((await bind(podRef("absent"))).status).toBe(404);
    const other = await bind({ apiVersion: "v1", kind: "ConfigMap", name: "mine" });
    expect(other.status).toBe(400);
    expect(other.body.message).toBe("cannot bind token to object of type /v1, Kind=ConfigMap");
  });

  it.each([60, 2 ** 32 + 1])("rejects a lifetime of %i seconds", async (expirationSeconds) => {
    const { status, body } = await server.http.post(tokens, { spec: { expirationSeconds } });
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([{ reason: "FieldValueInvalid", field: "spec.expirationSeconds" }]);
  });

  it("explains why a token is not authenticated", async () => {
    const { body } = await server.http.post(tokens, { spec: { audiences: ["istio-ca"] } });
    for (const token of ["unknown", `${body.status.token}x`, body.status.token]) {
      const { authenticated, error, audiences } = await review(token, ["another"]);
      expect({ authenticated, audiences }).toEqual({ authenticated: undefined, audiences: undefined });
      expect(error).toContain("invalid bearer token");
    }
  });
});
