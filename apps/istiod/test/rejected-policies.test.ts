import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { explainCommand } from "@istiod/commands";
import { offlineMeshes } from "../src/offline-mesh.js";
import { folder, serve } from "./serving.js";

const policy = (action: string): string => `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: deny, namespace: shop}
spec:
  selector: {matchLabels: {app: cart}}
  action: ${action}
  rules: [{}]
`;
const cart = `apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop, labels: {app: cart}}
spec: {containers: [{name: app}]}
status: {podIP: 10.1.0.1, phase: Running}
`;

async function text(url: string): Promise<string> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  return response.text();
}

const closed =
  "is rejected and has no last good version, so it fails closed: every request and connection is denied for workloads with app=cart in namespace shop, or in the mesh if that is the root namespace";

it("a policy that is rejected at startup is reported wherever an operator looks", async () => {
  const root = await folder({ "config/a.yaml": policy("DENYY"), "config/pod.yaml": cart });
  const { http, lines } = await serve({ configDir: join(root, "config") });
  expect(await text(`${http}/ready`)).toBe("rejected policies: 1 fail closed, 0 keep their last good version\n");
  const metric = 'istiod_rejected_policies{kind="AuthorizationPolicy",enforced="fail-closed"} 1';
  expect(await text(`${http}/metrics`)).toContain(metric);
  const { problems } = JSON.parse(await text(`${http}/?format=json`)) as { problems: readonly { message: string }[] };
  expect(problems.map(({ message }) => message)).toContain(closed);
  expect(await text(`${http}/debug/analyze`)).toContain(closed);
  expect(
    lines.filter(
      ({ level, msg }) => level === "error" && msg.endsWith(`a.yaml:1: AuthorizationPolicy shop/deny: ${closed}`),
    ),
  ).toHaveLength(1);
});

it("istiod explain names the object in place of a rejected policy", async () => {
  const root = await folder({ "config/a.yaml": policy("DENYY"), "config/pod.yaml": cart });
  let out = "";
  const command = explainCommand(offlineMeshes({}), (printed) => (out += printed)).exitOverride();
  const flags = { configDir: join(root, "config"), meshConfig: "", networksConfig: "", proxy: "cart-1.shop" };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  await command.parseAsync([...args, "--resource", "virtualInbound"], { from: "user" });
  expect(out).toMatch(/built from\n(?: {4}.*\n)*? {4}RejectedAuthorizationPolicy +shop\/deny/);
});

it("a policy that is fixed applies at once, and its rejection is resolved", async () => {
  const root = await folder({ "config/a.yaml": policy("DENYY") });
  const { http, lines } = await serve({ configDir: join(root, "config"), stateDir: join(root, "state") });
  await writeFile(join(root, "a.tmp"), policy("DENY"));
  await rename(join(root, "a.tmp"), join(root, "config/a.yaml"));
  await vi.waitFor(async () => expect(await text(`${http}/ready`)).toBe(""), { timeout: 5_000, interval: 10 });
  await vi.waitFor(
    () => expect(lines.some(({ msg }) => msg.startsWith("resolved: ") && msg.endsWith(closed))).toBe(true),
    {
      timeout: 5_000,
      interval: 10,
    },
  );
  expect(await text(`${http}/metrics`)).not.toContain("istiod_rejected_policies{");
});

it.each([
  ["maxConfigFileBytes", 100],
  ["maxConfigFileDocuments", 1],
])("--%s bounds the files of objects", async (flag, bound) => {
  const root = await folder({ "config/a.yaml": `${cart}---\n${cart.replace("cart-1", "cart-2")}` });
  const { lines } = await serve({ configDir: join(root, "config"), [flag]: bound });
  expect(lines.filter(({ level, msg }) => level === "error" && msg.includes(`(--${flag})`))).toHaveLength(1);
});
