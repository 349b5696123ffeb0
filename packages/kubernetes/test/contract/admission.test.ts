import { afterEach, expect, it } from "vitest";
import type { Loose } from "./http.js";
import { contract, eventually } from "./servers.js";
import { startWebhook, type WebhookServer } from "./webhook-server.js";

contract("admission webhooks", (server) => {
  const path = `/api/v1/namespaces/${server.namespace}/configmaps`;
  const registration = "/apis/admissionregistration.k8s.io/v1";
  const configMap = (name: string, metadata: object = {}) => ({
    metadata: { name, labels: { "example.com/admit": "yes" }, ...metadata },
    data: { a: "1" },
  });
  let webhook: WebhookServer | undefined;

  afterEach(async () => {
    webhook?.stop();
    webhook = undefined;
    for (const plural of ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]) {
      await server.http.delete(`${registration}/${plural}/test`);
    }
  });

  /** Answers the requests of `register`, and others by `respond`. */
  const withProbe = (respond: (request: Loose) => object) => (request: Loose) =>
    request.object?.metadata.name === "probe" ? { allowed: true, warnings: ["called"] } : respond(request);

  /** Registers a webhook for labelled ConfigMaps, and waits until the server calls it. */
  async function register(kind: "Mutating" | "Validating", respond: (request: Loose) => object, extra: object = {}) {
    webhook ??= await startWebhook(server.url.startsWith("https:"), withProbe(respond));
    const { url, caBundle } = webhook;
    await server.http.post(`${registration}/${kind.toLowerCase()}webhookconfigurations`, {
      metadata: { name: "test" },
      webhooks: [
        {
          name: "test.example.com",
          clientConfig: { url: `${url}/admit`, ...(caBundle !== undefined && { caBundle }) },
          rules: [
            { operations: ["CREATE", "UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] },
          ],
          objectSelector: { matchLabels: { "example.com/admit": "yes" } },
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          ...extra,
        },
      ],
    });
    await eventually(async () => {
      const { headers } = await server.http.post(`${path}?dryRun=All`, configMap("probe"));
      return String(headers.warning ?? "").includes("called");
    });
    webhook.requests.length = 0;
    return webhook;
  }

  const patchOf = (...operations: object[]) => ({
    allowed: true,
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
  });

  it("mutates objects by a JSON patch, and reports warnings", async () => {
    const { requests } = await register("Mutating", () => ({
      ...patchOf({ op: "add", path: "/data/added", value: "2" }),
      warnings: ["mind the gap"],
    }));
    const { status, body, headers } = await server.http.post(path, configMap("mutated"));
    expect(status).toBe(201);
    expect(body.data).toEqual({ a: "1", added: "2" });
    expect(String(headers.warning)).toContain('299 - "mind the gap"');
    expect(requests).toMatchObject([
      {
        operation: "CREATE",
        kind: { group: "", version: "v1", kind: "ConfigMap" },
        resource: { group: "", version: "v1", resource: "configmaps" },
        namespace: server.namespace,
        name: "mutated",
        dryRun: false,
        object: { kind: "ConfigMap", apiVersion: "v1", data: { a: "1" } },
        oldObject: null,
      },
    ]);
    expect(requests[0].userInfo.groups).toContain("system:masters");
  });

  it("rejects what a webhook denies", async () => {
    await register("Validating", () => ({
      allowed: false,
      status: { message: "not today", code: 403, reason: "Forbidden" },
    }));
    const { status, body } = await server.http.post(path, configMap("denied"));
    expect(status).toBe(403);
    expect(body).toMatchObject({
      reason: "Forbidden",
      message: 'admission webhook "test.example.com" denied the request: not today',
    });
    expect((await server.http.get(`${path}/denied`)).status).toBe(404);
  });

  it("calls the ready endpoints of a service, with its name in the certificate", async () => {
    const name = "hook";
    webhook = await startWebhook(
      true,
      withProbe(() => patchOf({ op: "add", path: "/data/service", value: name })),
      `${name}.${server.namespace}.svc`,
    );
    const { port, caBundle } = webhook;
    const ports = [{ name: "https", port: 8443, targetPort: port }];
    await server.http.post(`/api/v1/namespaces/${server.namespace}/services`, { metadata: { name }, spec: { ports } });
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${server.namespace}/endpointslices`;
    const { body: slice } = await server.http.post(slices, {
      metadata: { name, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [
        { name: "other", port: 1 },
        { name: "https", port },
      ],
      endpoints: [
        { addresses: ["192.0.2.1"], conditions: { ready: false } },
        { addresses: ["127.0.0.1"], conditions: { ready: true } },
      ],
    });
    const service = { name, namespace: server.namespace, port: 8443, path: "/admit" };
    await register("Mutating", () => ({ allowed: true }), { clientConfig: { service, caBundle }, timeoutSeconds: 2 });
    const { body } = await server.http.post(path, configMap("by-service"));
    expect(body.data).toEqual({ a: "1", service: name });
    await server.http.put(`${slices}/${name}`, { ...slice, endpoints: [] });
    await expect
      .poll(async () => (await server.http.post(`${path}?dryRun=All`, configMap("probe"))).body.message, {
        timeout: 20_000,
      })
      .toContain('failed calling webhook "test.example.com"');
  });

  it("calls it only for objects of the rules and the selectors", async () => {
    const { requests } = await register("Validating", () => ({ allowed: true }));
    await server.http.post(path, configMap("unlabelled", { labels: {} }));
    await server.http.post(`/api/v1/namespaces/${server.namespace}/secrets`, configMap("other-kind"));
    await server.http.post(path, configMap("labelled"));
    await server.http.mergePatch(`${path}/labelled`, { data: { a: "2" } });
    await server.http.delete(`${path}/labelled`);
    expect(requests.map(({ operation, name }: Loose) => `${operation} ${name}`)).toEqual([
      "CREATE labelled",
      "UPDATE labelled",
    ]);
    expect(requests[1]).toMatchObject({ object: { data: { a: "2" } }, oldObject: { data: { a: "1" } } });
  });

  it.each([
    ["Fail", 500],
    ["Ignore", 201],
  ])("failure policy %s: answers %i if the webhook cannot be reached", async (failurePolicy, expected) => {
    const { stop } = await register("Validating", () => ({ allowed: true }), { failurePolicy, timeoutSeconds: 2 });
    stop();
    const { status, body } = await server.http.post(path, configMap(`policy-${failurePolicy.toLowerCase()}`));
    expect(status).toBe(expected);
    if (expected === 500) {
      expect(body.reason).toBe("InternalError");
      expect(body.message).toContain('failed calling webhook "test.example.com"');
    }
  });
});
