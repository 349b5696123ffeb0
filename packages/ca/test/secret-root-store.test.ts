import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keepRoot, kubernetesSecrets, SecretRootStore, type SecretRootStoreOptions } from "@istiod/ca";
import { type ApiClient, ApiError, type ApiErrorCode, type ApiRequest } from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";

/** Sends requests to the server of the test. */
function clientOf({ url, tokens }: ApiServer): ApiClient {
  const codes: Readonly<Record<number, ApiErrorCode>> = { 403: "forbidden", 404: "not-found", 503: "unavailable" };
  const json = async <T>({ method = "GET", path, contentType, body }: ApiRequest): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${tokens.admin}`, "content-type": contentType ?? "application/json" },
      ...(body !== undefined && { body: String(body) }),
    });
    const answer = (await response.json()) as { readonly reason?: string };
    if (response.ok) return answer as T;
    const conflict = answer.reason === "AlreadyExists" ? "already-exists" : "conflict";
    throw new ApiError(codes[response.status] ?? conflict, `${method} ${path}: ${response.status}`);
  };
  return { server: url, json, send: () => Promise.reject(new Error("not used")), close: () => undefined };
}

const namespace = "istio-system";
const options = { organization: "cluster.local", key: { type: "ecdsa", curve: "P-256" } } as const;
const root = { certificate: "CERTIFICATE", privateKey: "KEY" };
const retries = { backoffMs: 1 };

describe("a root in a Secret", () => {
  let server: ApiServer;
  beforeEach(async () => {
    server = await startApiServer({ namespaces: [namespace] });
  });
  afterEach(() => server.stop());
  const store = (more?: SecretRootStoreOptions): SecretRootStore =>
    new SecretRootStore(kubernetesSecrets(clientOf(server), namespace, retries), more);
  const secret = async (name: string): Promise<{ readonly type?: string; readonly data: Record<string, string> }> =>
    clientOf(server).json({ path: `/api/v1/namespaces/${namespace}/secrets/${name}` });
  const entries = async (name: string): Promise<Record<string, string>> => {
    const { data } = await secret(name);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]),
    );
  };
  const create = async (name: string, data: Record<string, string>): Promise<void> => {
    const body = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData: undefined, data };
    await clientOf(server).json({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/secrets`,
      body: JSON.stringify(body),
    });
  };
  const base64 = (text: string): string => Buffer.from(text).toString("base64");

  it("cannot be created without its namespace, which the error names", async () => {
    await clientOf(server).json({ method: "DELETE", path: `/api/v1/namespaces/${namespace}` });
    await expect(store().create(root)).rejects.toMatchObject({
      code: "store",
      message:
        "Secret istio-system/istio-ca-secret cannot be created: namespace istio-system does not exist; " +
        "create it: kubectl create namespace istio-system",
    });
  });

  it("has Istio's names", async () => {
    expect(await store().load()).toBeUndefined();
    expect(await store().create(root)).toBe(true);
    expect(await secret("istio-ca-secret")).toMatchObject({ type: "istio.io/ca-root" });
    expect(await entries("istio-ca-secret")).toEqual({
      "ca-cert.pem": "CERTIFICATE",
      "ca-key.pem": "KEY",
      "root-cert.pem": "CERTIFICATE",
      "cert-chain.pem": "",
      "key.pem": "",
    });
    expect(await store().load()).toEqual(root);
    expect(await store().create({ ...root, privateKey: "OTHER" })).toBe(false);
    expect(await store().load()).toEqual(root);
  });

  it("is in cacerts if that is enabled and there is no istio-ca-secret", async () => {
    const cacerts = store({ useCacerts: true });
    expect(await cacerts.create(root)).toBe(true);
    expect(await entries("cacerts")).toMatchObject({ "istio-generated": "", "ca-key.pem": "KEY" });
    expect(await cacerts.load()).toEqual(root);
    expect(await store().load()).toBeUndefined();

    const first = { certificate: "FIRST", privateKey: "FIRST-KEY" };
    await store().create(first);
    expect(await cacerts.load()).toEqual(first);
  });

  it("is never a plugged-in CA, or one without its key", async () => {
    await create("cacerts", { "ca-cert.pem": base64("C"), "ca-key.pem": base64("K") });
    await expect(store({ useCacerts: true }).load()).rejects.toMatchObject({
      code: "store",
      message: expect.stringContaining("Secret istio-system/cacerts: data[istio-generated] is missing"),
    });
    await create("istio-ca-secret", { "ca-cert.pem": base64("C") });
    await expect(store().load()).rejects.toMatchObject({
      code: "incomplete",
      message: "Secret istio-system/istio-ca-secret: data[ca-key.pem] is missing",
    });
  });

  it("is the same for replicas that start at the same time, also while the server fails", async () => {
    await server.faults.failRequests({ status: 503, times: 4 });
    const roots = await Promise.all(Array.from({ length: 5 }, () => keepRoot(store(), options, Date.now())));
    expect(new Set(roots.map(({ certificate }) => certificate)).size).toBe(1);
    expect(await store().load()).toEqual(roots[0]);
  });

  it("is replaced only if nobody else has done so", async () => {
    const next = { certificate: "RENEWED", privateKey: "KEY" };
    expect(await store().replace(root, next)).toBe(false);
    await store().create(root);
    const results = await Promise.all([
      store().replace(root, next),
      store().replace(root, { ...next, certificate: "OTHER" }),
    ]);
    expect(results.toSorted()).toEqual([false, true]);
    const { certificate = "" } = (await store().load()) ?? {};
    expect(await entries("istio-ca-secret")).toMatchObject({ "root-cert.pem": certificate, "cert-chain.pem": "" });
    expect(await store().replace(root, next)).toBe(false);
  });

  it("is not created if it cannot be read", async () => {
    await server.faults.failRequests({ status: 403, times: 1 });
    await expect(keepRoot(store(), options, Date.now())).rejects.toMatchObject({
      code: "store",
      message: expect.stringContaining("Secret istio-system/istio-ca-secret cannot be read"),
    });
    expect(server.requests.filter(({ method }) => method === "POST")).toEqual([]);
  });
});
