import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiClient, inClusterAccess, parseKubeconfig, readKubeconfig } from "@istiod/kubernetes";
import { KubeConfig } from "@kubernetes/client-node";
import fc from "fast-check";
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

test("reads the same access as @kubernetes/client-node", async () => {
  const text = fc.constantFrom("a", "b/c", "x: y", "12", "null", "");
  const some = <T>(fields: Record<string, fc.Arbitrary<T>>) => fc.record(fields, { requiredKeys: [] });
  const cluster = fc.tuple(
    some<unknown>({
      "certificate-authority-data": text,
      "certificate-authority": fc.constantFrom("/ca.crt", ""),
      "insecure-skip-tls-verify": fc.boolean(),
      "tls-server-name": text,
      "proxy-url": text,
    }),
    fc.constantFrom("https://one:6443/", "http://two"),
  );
  const user = some<unknown>({
    "client-certificate-data": text,
    "client-certificate": fc.constantFrom("/tls.crt", ""),
    "client-key-data": text,
    "client-key": fc.constant("/tls.key"),
    token: text,
    username: text,
    password: text,
    as: text,
    exec: fc.constant({ command: "plugin", args: ["x"], env: [{ name: "A", value: "1" }] }),
    "auth-provider": fc.constant({ name: "oidc", config: { "id-token": "x" } }),
  });
  const context = some<unknown>({ user: fc.constant("u"), namespace: text });
  const used = (fields: object | null | undefined) =>
    Object.fromEntries(
      Object.entries(fields ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== ""),
    );
  await fc.assert(
    fc.asyncProperty(cluster, user, context, async ([fields, server], credentials, place) => {
      const config = {
        clusters: [{ name: "c", cluster: { ...fields, server } }],
        users: [{ name: "u", user: credentials }],
        contexts: [{ name: "one", context: { cluster: "c", ...place } }],
        "current-context": "one",
      };
      const library = new KubeConfig();
      library.loadFromString(JSON.stringify(config));
      const access = await parseKubeconfig(JSON.stringify(config));
      expect(used(access.cluster)).toEqual(used(library.getCurrentCluster()));
      expect(used(access.user)).toEqual("user" in place ? used(library.getCurrentUser()) : {});
      expect(access.namespace).toEqual(library.getContextObject("one")?.namespace);
    }),
  );
});

test("errors of a kubeconfig name the field, and do not quote credentials", async () => {
  const rejects = (config: object | string, message: string) =>
    expect(parseKubeconfig(typeof config === "string" ? config : JSON.stringify(config))).rejects.toMatchObject({
      code: "configuration",
      message,
    });
  await rejects({ clusters: [{ name: "c", cluster: {} }] }, "clusters[0].cluster.server: missing");
  await rejects({ clusters: {} }, "clusters: expected a list");
  await rejects({ users: [{ user: {} }] }, "users[0].name: missing");
  await rejects({ users: [{ name: "u", user: { token: 12 } }] }, "users[0].user.token: expected a string");
  await rejects({ contexts: [{ name: "x" }] }, "contexts[0].context: missing");
  await rejects("[]", "kubeconfig: expected an object");
  await rejects("", 'there is no context ""');
  await expect(parseKubeconfig("users: [{token: secret-token}\nx")).rejects.toMatchObject({
    code: "configuration",
    message: expect.not.stringContaining("secret-token") as string,
  });
});

test("a kubeconfig without a plugin or a proxy is read without loading @kubernetes/client-node", async () => {
  vi.resetModules();
  vi.doMock("@kubernetes/client-node", () => {
    throw new Error("loaded");
  });
  onTestFinished(() => vi.doUnmock("@kubernetes/client-node"));
  const { parseKubeconfig: parse } = await import("@istiod/kubernetes");
  expect(await parse(kubeconfig({ token: "x" }))).toMatchObject({ user: { token: "x" }, namespace: "shop" });
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

test("the configuration of an auth provider neither reads a token file nor runs a program", async () => {
  const withConfig = (config: object) => kubeconfig({ "auth-provider": { name: "oidc", config } });
  const access = await parseKubeconfig(withConfig({ tokenFile: "/token", exec: "id", "id-token": "" }));
  expect(access.user?.authProvider).toEqual({ name: "oidc", config: { "id-token": "" } });
  await expect(parseKubeconfig(withConfig({ exec: { command: "id" } }))).rejects.toThrow(
    "users[0].user.auth-provider.config.exec: expected a string",
  );
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
