import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiClient, inClusterAccess, parseKubeconfig, readKubeconfig } from "@istiod/kubernetes";
import { expect, onTestFinished, test, vi } from "vitest";
import { json, ScriptedServer } from "./support/scripted-server.js";

// Loading the sources of @kubernetes/client-node takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

function kubeconfig(user: Record<string, unknown>, server = "https://127.0.0.1:6443"): string {
  return JSON.stringify({
    clusters: [{ name: "c", cluster: { server, "certificate-authority": "ca.crt" } }],
    users: [{ name: "u", user }],
    contexts: [
      { name: "one", context: { cluster: "c", user: "u", namespace: "shop" } },
      { name: "two", context: { cluster: "absent", user: "u" } },
    ],
    "current-context": "one",
  });
}

test("paths are relative to the file, and token files keep their path", async () => {
  const directory = mkdtempSync(join(tmpdir(), "kubeconfig-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "config");
  writeFileSync(path, kubeconfig({ "token-file": "token" }));
  expect(await readKubeconfig(path)).toMatchObject({
    cluster: { server: "https://127.0.0.1:6443", caFile: join(directory, "ca.crt") },
    user: { authProvider: { config: { tokenFile: join(directory, "token") } } },
    namespace: "shop",
  });
});

test("errors name the context and the cluster", async () => {
  await expect(parseKubeconfig(kubeconfig({}), { context: "three" })).rejects.toThrow('there is no context "three"');
  await expect(parseKubeconfig(kubeconfig({}), { context: "two" })).rejects.toThrow(
    'context two: there is no cluster "absent"',
  );
  await expect(readKubeconfig("/nowhere/config")).rejects.toMatchObject({ code: "configuration" });
});

test("an exec plugin provides the token, and its invalid output is not quoted", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(() => server.stop());
  const plugin = (output: string) => ({
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: process.execPath,
      args: ["-e", `process.stdout.write(${JSON.stringify(output)})`],
    },
  });
  const access = async (output: string) => {
    const { cluster, user } = await parseKubeconfig(kubeconfig(plugin(output), server.url));
    return { cluster: { name: "c", server: cluster.server, skipTLSVerify: false }, user };
  };
  server.reply(json({ ok: true }));
  const client = createApiClient(await access(JSON.stringify({ status: { token: "from-plugin" } })));
  onTestFinished(() => client.close());
  expect(await client.json({ path: "/x" })).toEqual({ ok: true });
  expect(server.received[0]?.headers.authorization).toBe("Bearer from-plugin");
  const broken = createApiClient(await access("secret-token"));
  onTestFinished(() => broken.close());
  await expect(broken.json({ path: "/x" })).rejects.toMatchObject({
    code: "configuration",
    message: "user u: the plugin's output is no ExecCredential",
  });
});

test("a Pod uses its service account", () => {
  expect(
    inClusterAccess({ KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" }, "/absent"),
  ).toMatchObject({
    cluster: { server: "https://[fd00::1]:443", caFile: "/absent/ca.crt" },
    user: { authProvider: { config: { tokenFile: "/absent/token" } } },
  });
  expect(() => inClusterAccess({})).toThrow("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set");
});
