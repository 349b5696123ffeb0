import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const policy = (kind: string, app: string, spec: object): string =>
  JSON.stringify({
    apiVersion: kind === "Sidecar" ? "networking.istio.io/v1" : "security.istio.io/v1",
    kind,
    metadata: { name: app, namespace: "shop" },
    spec: { [kind === "Sidecar" ? "workloadSelector" : "selector"]: selection(kind, app), ...spec },
  });
const selection = (kind: string, app: string): object =>
  kind === "Sidecar" ? { labels: { app } } : { matchLabels: { app } };
const documents = (...objects: readonly string[]): string => objects.join("\n---\n");

const denyAdmin = { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin"] } }] }] };
const rejected = { action: "DENY", rules: [{ nothing: {} }] };

/** Replaces the file of objects without waiting for istiod. */
async function write(mesh: Mesh, objects: string): Promise<void> {
  await writeFile(join(mesh.work, "objects.tmp"), objects);
  await rename(join(mesh.work, "objects.tmp"), join(mesh.work, "config", "objects.yaml"));
}

const callers =
  (mesh: () => Mesh) =>
  async (app: string, path = "/", from = "client"): Promise<number> =>
    (await mesh().call(from, `http://${app}:8000${path}`)).status;

describe("policies that are rejected when istiod starts", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  const status = callers(() => mesh);
  beforeAll(async () => {
    if (reason !== undefined) return;
    mesh = await startMesh({
      objects: documents(
        policy("AuthorizationPolicy", "denied", rejected),
        policy("RequestAuthentication", "tokens", { jwtRules: [{ isuer: "https://issuer.example.com" }] }),
        policy("PeerAuthentication", "strict", { mtls: { mode: "STRICTT" } }),
        policy("Sidecar", "client", { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" }, egress: [{}] }),
      ),
      workloads: [{ app: "client" }, { app: "open" }, { app: "denied" }, { app: "tokens" }, { app: "strict" }],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  it("fail closed for the workloads that they select, and for no others", async () => {
    expect([await status("open"), await status("denied"), await status("tokens"), await status("strict")]).toEqual([
      200, 403, 401, 200,
    ]);
    await expect(mesh.enter("strict", "http://strict:8000/")).rejects.toThrow();
    expect((await mesh.enter("open", "http://open:8000/")).status).toBe(200);
    expect(await status("elsewhere.example.com")).toBe(502);
    expect(mesh.seen("denied")).toEqual([]);
    expect(mesh.seen("tokens")).toEqual([]);
    expect(mesh.refusals()).toEqual([]);
  });

  it("are reported with what applies instead", () => {
    const errors = mesh.lines().filter(({ level }) => level === "error");
    for (const text of [
      "AuthorizationPolicy shop/denied: is rejected and has no last good version, so it fails closed: every request and connection is denied for workloads with app=denied",
      "RequestAuthentication shop/tokens: is rejected and has no last good version, so it fails closed: every HTTP request is rejected with status 401",
      "PeerAuthentication shop/strict: is rejected and has no last good version, so it fails closed: mutual TLS is STRICT on every port",
      "Sidecar shop/client: is rejected and has no last good version, so it fails closed: outbound traffic",
    ])
      expect(errors.filter(({ msg }) => msg.includes(text))).toHaveLength(1);
  });

  it("apply as soon as they are fixed", async () => {
    await mesh.apply("objects", documents(policy("AuthorizationPolicy", "denied", denyAdmin)));
    for (const [app, path, expected] of [
      ["denied", "/", 200],
      ["denied", "/admin", 403],
      ["tokens", "/", 200],
    ] as const)
      await eventually(`${app}${path} answers ${expected}`, async () => (await status(app, path)) === expected);
    expect((await mesh.enter("strict", "http://strict:8000/")).status).toBe(200);
  });
});

describe("policies whose last good version is stored", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  const status = callers(() => mesh);
  beforeAll(async () => {
    if (reason !== undefined) return;
    mesh = await startMesh({
      objects: policy("AuthorizationPolicy", "denied", denyAdmin),
      workloads: [{ app: "client" }, { app: "denied" }],
      storesPolicies: true,
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  it.each([
    ["rejected", policy("AuthorizationPolicy", "denied", rejected)],
    ["not YAML", policy("AuthorizationPolicy", "denied", denyAdmin).slice(0, -1)],
  ])("apply after a restart on one that is %s", async (_, text) => {
    await mesh.istiod.kill();
    await write(mesh, text);
    await mesh.istiod.start();
    await mesh.apply("other", "");
    expect([await status("denied"), await status("denied", "/admin")]).toEqual([200, 403]);
    expect(
      mesh.lines().filter(({ level, msg }) => level === "error" && msg.includes("its last good version, stored at")),
    ).toHaveLength(1);
  });
});
