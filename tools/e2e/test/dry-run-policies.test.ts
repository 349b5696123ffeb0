import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Mesh, startMesh, whyNoEnvoy, whyNoProcess } from "@istiod/e2e";

const reason = (await whyNoEnvoy()) ?? whyNoProcess();
const root = dirname(createRequire(import.meta.url).resolve("@istiod/istiod/package.json"));

const policy = (name: string, app: string, spec: object, dryRun = true): string =>
  JSON.stringify({
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: { name, namespace: "shop", ...(dryRun && { annotations: { "istio.io/dry-run": "true" } }) },
    spec: { selector: { matchLabels: { app } }, ...spec },
  });
const paths = (...list: readonly string[]): readonly object[] => [{ to: [{ operation: { paths: list } }] }];
const noAdmin = policy("no-admin", "web", { action: "DENY", rules: paths("/admin*") });
const readers = policy("readers", "web", { action: "ALLOW", rules: paths("/page", "/admin/x") });
const enforced = policy("no-secret", "web", { action: "DENY", rules: paths("/secret") }, false);
const noTcp = policy("no-tcp", "raw", { action: "DENY", rules: [{}] });

describe("istiod authz dry-run", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason !== undefined) return;
    mesh = await startMesh({
      objects: [noAdmin, readers, enforced, noTcp].join("\n---\n"),
      workloads: [{ app: "web" }, { app: "raw", portName: "tcp" }],
    });
  }, 120_000);
  afterAll(() => mesh?.close());

  async function dryRun(app: string): Promise<readonly string[]> {
    const args = ["authz", "dry-run", "--admin", `http://${mesh.workload(app).address}:15000`];
    const child = spawn(process.execPath, [join(root, "bin", "istiod.js"), ...args], { timeout: 60_000 });
    const [out, error] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(error).toBe("");
    return out.trimEnd().split("\n");
  }
  const get = async (app: string, ...list: readonly string[]): Promise<readonly number[]> => {
    const statuses: number[] = [];
    for (const path of list) statuses.push((await mesh.enter(app, `http://${app}:8000${path}`)).status);
    return statuses;
  };
  const note =
    "Counts are since the start of the proxy, or the last reset, and include earlier dry runs of the action.";

  it("names the policies, and the requests that they would have denied and did not", async () => {
    expect(await get("web", "/admin", "/admin/x", "/admin/y", "/page", "/", "/", "/secret")).toEqual([
      ...Array.from({ length: 6 }, () => 200),
      403,
    ]);
    const stat = `http.inbound_${mesh.workload("web").address}_8000;`;
    expect(await dryRun("web")).toEqual([
      // A request that an enforced DENY policy rejects does not reach the filter of ALLOW policies.
      `ALLOW shop/readers (dry run), ${stat}: no rule matched 4 of 6 requests; they would have been denied unless an enforced ALLOW policy allows them`,
      `DENY shop/no-admin (dry run), ${stat}: would have denied 3 of 7 requests`,
      note,
    ]);
  });

  it("counts connections of TCP ports, and dry runs of one action together", async () => {
    expect(await get("raw", "/", "/")).toEqual([200, 200]);
    expect(await dryRun("raw")).toEqual([
      "DENY shop/no-tcp (dry run), tcp: would have denied 2 of 2 connections",
      note,
    ]);
    await mesh.apply("more", policy("another", "raw", { action: "DENY", rules: [{}] }));
    expect((await dryRun("raw"))[0]).toMatch(/^DENY shop\/another, shop\/no-tcp \(dry runs, counted together\), tcp: /);
  });
});
