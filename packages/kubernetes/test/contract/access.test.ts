import { createPublicKey, verify } from "node:crypto";
import { expect, it } from "vitest";
import { contract } from "./servers.js";

contract("access", (server) => {
  const inNamespace = `/api/v1/namespaces/${server.namespace}`;
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const tokenOf = async (account: string, spec: object = {}): Promise<string> => {
    await server.http.post(`${inNamespace}/serviceaccounts`, { metadata: { name: account } });
    const { body } = await server.http.post(`${inNamespace}/serviceaccounts/${account}/token`, { spec });
    return body.status.token;
  };

  it("rejects unknown tokens with 401", async () => {
    const { status, body } = await server.http.get("/api/v1/pods", { token: "unknown" });
    expect(status).toBe(401);
    expect(body).toMatchObject({
      kind: "Status",
      status: "Failure",
      reason: "Unauthorized",
      message: "Unauthorized",
      code: 401,
    });
  });

  it("allows what roles grant, and rejects the rest with 403", async () => {
    const token = await tokenOf("reader");
    const denied = await server.http.get(`${inNamespace}/secrets`, { token });
    expect(denied.status).toBe(403);
    expect(denied.body).toMatchObject({ reason: "Forbidden", details: { kind: "secrets" } });
    expect(denied.body.message).toBe(
      `secrets is forbidden: User "system:serviceaccount:${server.namespace}:reader" cannot list resource "secrets" ` +
        `in API group "" in the namespace "${server.namespace}"`,
    );
    await server.http.post(`${rbac}/namespaces/${server.namespace}/roles`, {
      metadata: { name: "reader" },
      rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["list", "get"] }],
    });
    await server.http.post(`${rbac}/namespaces/${server.namespace}/rolebindings`, {
      metadata: { name: "reader" },
      subjects: [{ kind: "ServiceAccount", name: "reader", namespace: server.namespace }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
    });
    await expect.poll(async () => (await server.http.get(`${inNamespace}/secrets`, { token })).status).toBe(200);
    expect((await server.http.get("/api/v1/secrets", { token })).status).toBe(403);
    expect((await server.http.post(`${inNamespace}/secrets`, { metadata: { name: "a" } }, { token })).status).toBe(403);
  });

  it("reviews tokens by audience", async () => {
    const token = await tokenOf("reviewed", { audiences: ["istio-ca"], expirationSeconds: 600 });
    const review = async (audiences?: string[]) => {
      const spec = { token, ...(audiences !== undefined && { audiences }) };
      return server.http.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec });
    };
    const { status, body } = await review(["istio-ca", "other"]);
    expect(status).toBe(201);
    expect(body.status).toMatchObject({
      authenticated: true,
      audiences: ["istio-ca"],
      user: {
        username: `system:serviceaccount:${server.namespace}:reviewed`,
        groups: expect.arrayContaining(["system:serviceaccounts", `system:serviceaccounts:${server.namespace}`]),
      },
    });
    expect((await review()).body.status.authenticated).toBeUndefined();
    expect((await server.http.get("/api", { token })).status).toBe(401);
  });

  it("ends tokens with their service account", async () => {
    const token = await tokenOf("ended");
    expect((await server.http.get("/api", { token })).status).toBe(200);
    await server.http.delete(`${inNamespace}/serviceaccounts/ended`);
    await expect.poll(async () => (await server.http.get("/api", { token })).status, { timeout: 20_000 }).toBe(401);
  });

  it("rejects tokens of less than ten minutes", async () => {
    await server.http.post(`${inNamespace}/serviceaccounts`, { metadata: { name: "short" } });
    const { status, body } = await server.http.post(`${inNamespace}/serviceaccounts/short/token`, {
      spec: { expirationSeconds: 60 },
    });
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([{ field: "spec.expirationSeconds" }]);
  });

  it("publishes the keys of its tokens", async () => {
    const token = await tokenOf("signed");
    const { body: configuration } = await server.http.get("/.well-known/openid-configuration");
    const [header = "", payload = "", signature = ""] = token.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    expect(claims.iss).toBe(configuration.issuer);
    const { body } = await server.http.get("/openid/v1/jwks");
    const { kid } = JSON.parse(Buffer.from(header, "base64url").toString());
    const jwk = body.keys.find((key: { kid: string }) => key.kid === kid);
    const key = createPublicKey({ key: jwk, format: "jwk" });
    const isValid = verify(
      "sha256",
      Buffer.from(`${header}.${payload}`),
      key.asymmetricKeyType === "ec" ? { key, dsaEncoding: "ieee-p1363" } : key,
      Buffer.from(signature, "base64url"),
    );
    expect(isValid).toBe(true);
  });

  it("reviews the access of others and of oneself", async () => {
    const reviews = "/apis/authorization.k8s.io/v1";
    const resourceAttributes = { verb: "list", resource: "secrets", namespace: server.namespace };
    const spec = { user: "nobody", groups: ["system:authenticated"], resourceAttributes };
    const other = await server.http.post(`${reviews}/subjectaccessreviews`, { spec });
    expect(other.status).toBe(201);
    expect(other.body.status.allowed).toBe(false);
    const masters = { ...spec, groups: ["system:masters"] };
    expect((await server.http.post(`${reviews}/subjectaccessreviews`, { spec: masters })).body.status.allowed).toBe(
      true,
    );
    const token = await tokenOf("self");
    const self = await server.http.post(
      `${reviews}/selfsubjectaccessreviews`,
      { spec: { resourceAttributes } },
      { token },
    );
    expect(self.status).toBe(201);
    expect(self.body.status.allowed).toBe(false);
  });

  it("stores certificate signing requests with their requester, approval and certificate", async () => {
    const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const spec = {
      request: Buffer.from(csr).toString("base64"),
      signerName: "example.com/signer",
      usages: ["client auth"],
    };
    const { status, body } = await server.http.post(csrs, { metadata: { name: "request" }, spec });
    expect(status).toBe(201);
    expect(body.spec.groups).toContain("system:masters");
    const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "" }];
    const approved = await server.http.put(`${csrs}/request/approval`, { ...body, status: { conditions } });
    expect(approved.status).toBe(200);
    expect(approved.body.status.conditions).toMatchObject([{ type: "Approved", status: "True" }]);
  });
});

const csr = `-----BEGIN CERTIFICATE REQUEST-----
MIHJMHECAQAwDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABBSoakpOUqMz4LWQRYRCVhNWrbkUpHMirhkGuppZ+CG4sVHXfcwlMEeQVdN3
wWheGiOMc6PJApMbC9qcoZpDdk6gADAKBggqhkjOPQQDAgNIADBFAiEArFzNIR/R
yy4ZCxdfMeDnvpYA5CT/zwbd6XHACd9nRRUCIFHVqZi/uM2blSyvjMEdZm61c3ZE
RtvYzwO4uxg+V7HU
-----END CERTIFICATE REQUEST-----
`;
