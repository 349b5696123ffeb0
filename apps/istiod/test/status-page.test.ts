import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { folder, serve } from "./serving.js";
import { refusal, statusOf, troubledMesh } from "./troubled-mesh.js";

it("shows the instance, unsynced proxies, rejected documents, changes, certificates and objects", async () => {
  const { istiod, config } = await troubledMesh();
  const status = await statusOf(istiod);
  expect(status).toMatchObject({
    state: "error",
    instance: {
      name: "istiod-7",
      revision: "canary",
      version: "0.1.0",
      cluster: "Kubernetes",
      namespace: "istio-system",
      configRevision: 2,
      waitingFor: [],
    },
    proxyCounts: { total: 3, synced: 1, stale: 1, rejected: 1, versions: { "1.27.0": 3 } },
    rejections: [
      {
        type: "RDS",
        reason: refusal.replace("80: ", ""),
        resources: ["80"],
        causes: ["VirtualService/shop/cart"],
        proxies: ["web.shop"],
      },
    ],
    problems: [
      {
        severity: "error",
        file: join(config, "bad.yaml"),
        line: 6,
        object: "VirtualService shop/bad",
        field: "http[0].timeout",
      },
    ],
  });
  expect(
    status.proxies.map(({ name, state, types }) => [
      name,
      state,
      Object.fromEntries(types.map((type) => [type.type, type.state])),
    ]),
  ).toEqual([
    ["web.shop", "rejected", { CDS: "synced", LDS: "synced", EDS: "synced", RDS: "rejected" }],
    ["idle.shop", "stale", { CDS: "stale" }],
    ["api.pay", "synced", { CDS: "synced", LDS: "synced", EDS: "synced", RDS: "synced" }],
  ]);
  expect(status.changes[0]).toMatchObject({
    revision: 2,
    objects: ["VirtualService/shop/cart"],
    objectCount: 1,
    proxies: 2,
    proxiesAcknowledged: 1,
    rejections: 1,
    pending: 0,
    lastAckMs: expect.any(Number) as number,
  });
  expect(status.sources).toEqual([
    { name: "Mesh configuration", location: "defaults", state: "current", reasons: [] },
    { name: "Mesh networks", location: "none", state: "current", reasons: [] },
    { name: "Cluster Kubernetes", location: config, state: "current", reasons: [] },
  ]);
  const [day, year] = [86_400_000, 365 * 86_400_000];
  expect(status.certificates).toEqual([
    expect.objectContaining({
      role: "Serving certificate",
      subject:
        "istiod.istio-system.svc, istiod-remote.istio-system.svc, istio-pilot.istio-system.svc, istiod-canary.istio-system.svc",
      isLate: false,
    }),
    expect.objectContaining({ role: "Root", subject: "O=cluster.local", isLate: false }),
  ]);
  const [serving, root] = status.certificates as unknown as {
    readonly notAfter: number;
    readonly renewalDue: number;
  }[];
  const left = (at: number | undefined, unit: number): number => Math.round(((at ?? 0) - Date.now()) / unit);
  expect([
    left(serving?.notAfter, day),
    left(serving?.renewalDue, day / 24),
    left(root?.notAfter, year),
    left(root?.renewalDue, year),
  ]).toEqual([1, 12, 10, 8]);
  expect(status.objects.filter(({ count }) => count > 0)).toEqual([
    { kind: "Service", group: "", count: 1 },
    { kind: "EndpointSlice", group: "discovery.k8s.io", count: 1 },
    { kind: "VirtualService", group: "networking.istio.io", count: 1 },
  ]);
});

it("is HTML that escapes text from proxies, and reflects fixes", async () => {
  const { istiod, config, accept } = await troubledMesh();
  const answer = await fetch(`${istiod.http}/`, { headers: { accept: "text/html" } });
  expect(answer.status).toBe(200);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": expect.stringMatching(/^default-src 'none'/) as string,
  });
  const page = await answer.text();
  expect(page).toContain("&lt;img src=x onerror=&quot;document.title=&#39;taken&#39;&quot;&gt; is no such timeout");
  expect(page).not.toContain("<img");
  expect(page).toContain(`${join(config, "bad.yaml")}:6`);
  accept();
  await rm(join(config, "bad.yaml"));
  await rm(join(config, "vs.yaml"));
  await vi.waitFor(
    async () =>
      expect(await statusOf(istiod)).toMatchObject({
        problems: [],
        rejections: [],
        proxyCounts: { rejected: 0, synced: 2 },
      }),
    5000,
  );
});

it("is served only at /, for GET and HEAD", async () => {
  const { http } = await serve({ configDir: await folder({}) });
  const status = async (path: string, method: string): Promise<string> => {
    const answer = await fetch(`${http}${path}`, { method });
    return `${answer.status} ${answer.headers.get("allow") ?? ""} ${(await answer.text()).length > 0 ? "body" : ""}`.trim();
  };
  expect(await status("/", "GET")).toBe("200  body");
  expect(await status("/", "HEAD")).toBe("200");
  expect(await status("/", "POST")).toBe("405 GET, HEAD body");
  expect(await status("/?format=xml", "GET")).toBe("400  body");
  for (const path of ["/index.html", "/status", "/debugs", "/favicon.ico"])
    expect(await status(path, "GET")).toBe("404  body");
});

it("is not served if debug endpoints are disabled", async () => {
  const { http } = await serve({ configDir: await folder({}) }, { ENABLE_DEBUG_ON_HTTP: "false" });
  expect((await fetch(`${http}/`)).status).toBe(404);
});

it("shows an unreadable source as stale", async () => {
  const root = await folder({
    "config/a.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: a}}",
    "mesh.yaml": "{trustDomain: td}",
  });
  const istiod = await serve({ configDir: join(root, "config"), meshConfig: join(root, "mesh.yaml") });
  await writeFile(join(root, "mesh.yaml"), "{trustDomain: [");
  await rename(join(root, "config"), join(root, "gone"));
  await vi.waitFor(async () => {
    const { state, sources } = await statusOf(istiod);
    expect(state).toBe("error");
    expect(sources.map(({ name, state: of }) => `${name}: ${of}`)).toEqual([
      "Mesh configuration: stale",
      "Mesh networks: current",
      "Cluster Kubernetes: stale",
    ]);
    expect(sources[0]?.reasons[0]).toContain(`${join(root, "mesh.yaml")}:1: is not YAML`);
    expect(sources[2]?.reasons[0]).toContain(join(root, "config"));
  }, 10_000);
});

it("shows findings about accepted objects, with file and line", async () => {
  const root = await folder({
    "web.yaml":
      "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec:\n  type: ExternalName\n  externalName: example.com\n  ports:\n  - {name: web, port: 80}\n",
  });
  const { http } = await serve({ configDir: root });
  const status = (await (await fetch(`${http}/?format=json`)).json()) as {
    readonly state: string;
    readonly findings: readonly object[];
  };
  expect(status.findings).toEqual([
    {
      code: "IST0150",
      level: "Warning",
      origin: "Service shop/web",
      reference: `${join(root, "web.yaml")}:8`,
      message: expect.stringMatching(/port 80 of an ExternalName service is TCP/) as string,
    },
  ]);
  expect(status.state).toBe("warning");
  expect(await (await fetch(http)).text()).toContain(
    '<a href="https://istio.io/latest/docs/reference/config/analysis/ist0150/">IST0150</a>',
  );
});
