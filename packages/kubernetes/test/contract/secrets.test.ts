import { expect, it } from "vitest";
import { contract, eventually } from "./servers.js";

const accountAnnotation = "kubernetes.io/service-account.name";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

contract("secrets", (server) => {
  const inNamespace = `/api/v1/namespaces/${server.namespace}`;
  const path = `${inNamespace}/secrets`;

  it("move stringData to data, over what is there", async () => {
    const { status, body } = await server.http.post(path, {
      metadata: { name: "text" },
      data: { a: base64("1"), b: base64("2") },
      stringData: { b: "3", c: "4" },
    });
    expect(status).toBe(201);
    expect(body.data).toEqual({ a: base64("1"), b: base64("3"), c: base64("4") });
    expect(body.stringData).toBeUndefined();
    expect((await server.http.get(`${path}/text`)).body).toEqual(body);
    const patched = await server.http.mergePatch(`${path}/text`, { stringData: { c: "5" } });
    expect(patched.body.data).toEqual({ a: base64("1"), b: base64("3"), c: base64("5") });
    expect(patched.body.stringData).toBeUndefined();
  });

  it("keep their type, Opaque by default", async () => {
    const { body } = await server.http.post(path, { metadata: { name: "typed" } });
    expect(body.type).toBe("Opaque");
    const { status, body: rejected } = await server.http.put(`${path}/typed`, { ...body, type: "example.com/other" });
    expect(status).toBe(422);
    expect(rejected.details.causes).toMatchObject([{ reason: "FieldValueInvalid", field: "type" }]);
  });

  it("are selected by type", async () => {
    await server.http.post(path, { metadata: { name: "of-type" }, type: "example.com/selected" });
    const names = async (selector: string): Promise<readonly string[]> => {
      const { body } = await server.http.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`);
      return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    };
    expect(await names("type=example.com/selected")).toEqual(["of-type"]);
    expect(await names("type!=example.com/selected")).not.toContain("of-type");
  });

  it("need the keys of their type", async () => {
    const { status, body } = await server.http.post(path, {
      metadata: { name: "tls" },
      type: "kubernetes.io/tls",
      data: { "tls.crt": "" },
    });
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([{ reason: "FieldValueRequired", field: "data[tls.key]" }]);
  });

  it("reject keys that are no file names", async () => {
    const { status, body } = await server.http.post(path, { metadata: { name: "keys" }, data: { "a/b": "" } });
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([{ reason: "FieldValueInvalid", field: "data[a/b]" }]);
  });

  it("of service account tokens receive a token that ends with them", async () => {
    const { body: account } = await server.http.post(`${inNamespace}/serviceaccounts`, {
      metadata: { name: "legacy" },
    });
    const created = await server.http.post(path, {
      metadata: { name: "legacy-token", annotations: { [accountAnnotation]: "legacy" } },
      type: "kubernetes.io/service-account-token",
    });
    expect(created.status).toBe(201);
    const { data, metadata } = await eventually(async () => {
      const { body } = await server.http.get(`${path}/legacy-token`);
      return body.data?.token !== undefined && body;
    });
    expect(metadata.annotations["kubernetes.io/service-account.uid"]).toBe(account.metadata.uid);
    expect(Buffer.from(data.namespace, "base64").toString()).toBe(server.namespace);
    const token = Buffer.from(data.token, "base64").toString();
    const { body } = await server.http.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token } });
    expect(body.status).toMatchObject({
      authenticated: true,
      user: { username: `system:serviceaccount:${server.namespace}:legacy`, uid: account.metadata.uid },
    });
    await server.http.delete(`${path}/legacy-token`);
    await expect.poll(async () => (await server.http.get("/api", { token })).status, { timeout: 20_000 }).toBe(401);
  });

  it("of service account tokens are deleted with their account", async () => {
    await server.http.post(`${inNamespace}/serviceaccounts`, { metadata: { name: "leaving" } });
    await server.http.post(path, {
      metadata: { name: "leaving-token", annotations: { [accountAnnotation]: "leaving" } },
      type: "kubernetes.io/service-account-token",
    });
    await eventually(async () => (await server.http.get(`${path}/leaving-token`)).body.data?.token !== undefined);
    await server.http.delete(`${inNamespace}/serviceaccounts/leaving`);
    await eventually(async () => (await server.http.get(`${path}/leaving-token`)).status === 404);
  });

  it("of service account tokens name their account", async () => {
    const { status, body } = await server.http.post(path, {
      metadata: { name: "nameless" },
      type: "kubernetes.io/service-account-token",
    });
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([
      { reason: "FieldValueRequired", field: `metadata.annotations[${accountAnnotation}]` },
    ]);
  });
});
