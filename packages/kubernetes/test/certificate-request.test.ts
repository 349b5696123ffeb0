import {
  type ApiClient,
  type CertificateRequestOptions,
  createApiClient,
  parseKubeconfig,
  requestCertificate,
} from "@istiod/kubernetes";
import { type ApiObject, type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const kind = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest" };
const options = { request: "PEM", signerName: "example.com/mesh", usages: ["server auth"], retryMs: 10 };
const approval = { reason: "Mesh", message: "approved by the mesh" };

let server: ApiServer;
let client: ApiClient;
beforeEach(async () => {
  server = await startApiServer({ bookmarkIntervalMs: 1000 });
  client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
});
afterEach(async () => {
  client.close();
  await server.stop();
});

const isOfWatch = ({ isWatch }: { readonly isWatch: boolean }): boolean => isWatch;
/** The requests by their method; `WATCH` for a watch. */
const methods = (): string[] => server.requests.map(({ method, isWatch }) => (isWatch ? "WATCH" : method));

/** Waits for a watch of the only request, and sets its status. */
async function answer(status: (object: ApiObject) => object, watches = 1): Promise<void> {
  await expect
    .poll(() => server.requests.filter(isOfWatch).length, { timeout: 10_000 })
    .toBeGreaterThanOrEqual(watches);
  const [object] = server.objects.list(kind);
  if (object === undefined) throw new Error("there is no request");
  await server.objects.updateStatus({ ...object, status: { ...(object.status as object), ...status(object) } });
}

const signed = () => ({ certificate: Buffer.from("CERTIFICATE").toString("base64") });
const request = (more: Partial<CertificateRequestOptions> = {}) => requestCertificate(client, { ...options, ...more });
const condition = (type: string) => () => ({
  conditions: [{ type, status: "True", reason: "Policy", message: "no" }],
});

describe("a certificate request", () => {
  it("is created, approved, watched until the certificate is there, and deleted; it is never listed", async () => {
    const result = request({ approval, expirationSeconds: 3600 });
    let seen: ApiObject | undefined;
    await answer((object) => {
      seen = object;
      return signed();
    });
    expect(await result).toBe("CERTIFICATE");
    expect(methods()).toEqual(["POST", "PUT", "WATCH", "DELETE"]);
    expect(seen).toMatchObject({
      metadata: { name: expect.stringMatching(/^csr-[0-9a-f]{16}$/) },
      spec: {
        request: Buffer.from("PEM").toString("base64"),
        signerName: "example.com/mesh",
        usages: ["server auth"],
        expirationSeconds: 3600,
      },
      status: { conditions: [{ type: "Approved", status: "True", ...approval }] },
    });
    expect(server.objects.list(kind)).toEqual([]);
  });

  it("gets a certificate that was there before the watch, and one after a watch that ended or expired", async () => {
    const first = request();
    await answer(signed);
    expect(await first).toBe("CERTIFICATE");

    const second = request();
    const before = server.requests.filter(isOfWatch).length;
    await expect.poll(() => server.requests.filter(isOfWatch).length, { timeout: 10_000 }).toBe(before + 1);
    await server.faults.dropConnections("end", { watch: true });
    await expect.poll(() => server.requests.filter(isOfWatch).length, { timeout: 10_000 }).toBe(before + 2);
    await server.faults.dropConnections("reset", { watch: true });
    await expect.poll(() => server.requests.filter(isOfWatch).length, { timeout: 10_000 }).toBe(before + 3);
    await server.faults.expireWatches();
    await answer(signed, before + 4);
    expect(await second).toBe("CERTIFICATE");
  });

  it("is deleted also if nobody signs it, and if it is denied, fails, or is deleted by others", async () => {
    await expect(request({ approval, deadlineMs: 300 })).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("no certificate within 300 ms"),
    });
    expect(methods().at(-1)).toBe("DELETE");
    for (const [type, code, text] of [
      ["Denied", "forbidden", "was denied: Policy: no"],
      ["Failed", "invalid", "has failed: Policy: no"],
    ] as const) {
      const result = request();
      const rejected = expect(result).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
      await answer(condition(type), server.requests.filter(isOfWatch).length + 1);
      await rejected;
    }
    const removed = request();
    const rejected = expect(removed).rejects.toMatchObject({ code: "not-found" });
    await expect.poll(() => server.objects.list(kind).length, { timeout: 10_000 }).toBe(1);
    await server.objects.delete({ ...kind, name: server.objects.list(kind)[0]?.metadata.name ?? "" });
    await rejected;
    expect(server.objects.list(kind)).toEqual([]);
  });

  it("repeats the approval after a conflict, with the object read again", async () => {
    await server.faults.failRequests({ status: 409, method: "PUT" });
    const result = request({ approval });
    await answer(signed);
    expect(await result).toBe("CERTIFICATE");
    expect(methods()).toEqual(["POST", "PUT", "GET", "PUT", "WATCH", "DELETE"]);
  });

  it("ends when the signal is aborted, and the object is deleted", async () => {
    const abort = new AbortController();
    const result = request({ signal: abort.signal });
    const rejected = expect(result).rejects.toMatchObject({ code: "aborted" });
    await expect.poll(() => server.requests.filter(isOfWatch).length, { timeout: 10_000 }).toBe(1);
    abort.abort();
    await rejected;
    expect(methods().at(-1)).toBe("DELETE");
    expect(server.objects.list(kind)).toEqual([]);
  });
});
