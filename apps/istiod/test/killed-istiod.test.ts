import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type ApiServer, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { folder, serve } from "./serving.js";

const until = { timeout: 90_000, interval: 50 };
const main = pathToFileURL(
  join(createRequire(import.meta.url).resolve("@istiod/istiod/package.json"), "../dist/main.js"),
);
const policy = (action: string): ObjectInput => ({
  apiVersion: "security.istio.io/v1",
  kind: "AuthorizationPolicy",
  metadata: { name: "deny", namespace: "shop" },
  spec: { selector: { matchLabels: { app: "cart" } }, action, rules: [{}] },
});
const type = {
  group: "security.istio.io",
  version: "v1",
  kind: "AuthorizationPolicy",
  plural: "authorizationpolicies",
  namespaced: true,
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** An istiod in a process of its own. Resolves when it is ready. */
async function start(server: ApiServer, stateDir: string): Promise<{ http: string; process: ChildProcess }> {
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  const http = `127.0.0.1:${await freePort()}`;
  const off = ["grpcAddr", "secureGRPCAddr", "httpsAddr", "monitoringAddr"].map((flag) => `--${flag}=`);
  const flags = [`--kubeconfig=${kubeconfig}`, `--httpAddr=${http}`, `--stateDir=${stateDir}`, "--ctrlz_port=0"];
  const args = ["node", "istiod", "discovery", ...flags, ...off];
  const program = `import { run } from ${JSON.stringify(main.href)}; await run(${JSON.stringify(args)});`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout?.resume();
  onTestFinished(() => void child.kill("SIGKILL"));
  await vi.waitFor(async () => expect((await fetch(`http://${http}/ready`)).status).toBe(200), until);
  return { http: `http://${http}`, process: child };
}

async function kill({ process: child }: { readonly process: ChildProcess }): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

const ready = async (istiod: { readonly http: string }): Promise<string> =>
  (await fetch(`${istiod.http}/ready`)).text();

test("an istiod that is killed and started again enforces the last good version of a cluster's policy", async () => {
  const server = await startApiServer({ types: [type], namespaces: ["shop", "istio-system"], bookmarkIntervalMs: 200 });
  onTestFinished(() => server.stop());
  await server.objects.create(policy("DENY"));
  const state = join(await folder({}), "state");
  const first = await start(server, state);
  expect(await ready(first)).toBe("");
  await kill(first);
  await server.objects.update(policy("DENYY"));
  const second = await start(server, state);
  expect(await ready(second)).toBe("rejected policies: 0 fail closed, 1 keep their last good version\n");
  await kill(second);
  await server.objects.delete({ ...policy("DENYY"), namespace: "shop", name: "deny" });
  await server.objects.create(policy("DENYY"));
  const third = await start(server, state);
  expect(await ready(third)).toBe("rejected policies: 1 fail closed, 0 keep their last good version\n");
}, 300_000);

test("--stateDir without any policies to store is an error, because it would have no effect", async () => {
  const shared = await folder({});
  const meshConfig = join(await folder({ mesh: `configSources: [{address: "fs://${shared}"}]\n` }), "mesh");
  await expect(serve({ meshConfig, stateDir: join(shared, "state") })).rejects.toThrow(
    /^--stateDir: has no effect without policies of --configDir or a cluster; /,
  );
});
