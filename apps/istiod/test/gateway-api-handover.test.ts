import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { allKinds } from "@istiod/config-schema";
import { chartInstallation, injectionValues } from "@istiod/injector/testing";
import { type ApiServer, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { typesOf } from "@istiod/commands/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { folder, serve } from "./serving.js";

const group = "gateway.networking.k8s.io";
const main = pathToFileURL(
  join(createRequire(import.meta.url).resolve("@istiod/istiod/package.json"), "../dist/main.js"),
);
const until = { timeout: 90_000, interval: 50 };

const gateway = (...ports: readonly number[]): ObjectInput => ({
  apiVersion: `${group}/v1`,
  kind: "Gateway",
  metadata: { namespace: "shop", name: "edge" },
  spec: { gatewayClassName: "istio", listeners: ports.map((port) => ({ name: `p-${port}`, port, protocol: "HTTP" })) },
});

const route = (name: string): ObjectInput => ({
  apiVersion: `${group}/v1`,
  kind: "HTTPRoute",
  metadata: { namespace: "shop", name },
  spec: { parentRefs: [{ name: "edge", sectionName: "p-80" }], rules: [{ backendRefs: [{ name: "cart", port: 80 }] }] },
});

const service: ObjectInput = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { namespace: "shop", name: "cart" },
  spec: { ports: [{ name: "http", port: 80 }] },
};

async function startCluster(): Promise<{ server: ApiServer; kubeconfig: string }> {
  const types = typesOf(allKinds.filter((kind) => kind.group === group));
  const server = await startApiServer({ types, namespaces: ["shop", "istio-system"] });
  onTestFinished(() => server.stop());
  const { templates, values } = chartInstallation();
  const data = {
    config: JSON.stringify({ policy: "enabled", templates }),
    values: JSON.stringify(injectionValues(values)),
  };
  const metadata = { namespace: "istio-system", name: "istio-sidecar-injector" };
  await server.objects.create({ apiVersion: "v1", kind: "ConfigMap", metadata, data });
  return { server, kubeconfig: join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig") };
}

/** Starts an istiod that can be killed. */
function startProcess(kubeconfig: string): ChildProcess {
  const off = ["secureGRPCAddr", "httpsAddr", "monitoringAddr"].map((flag) => `--${flag}=`);
  const listening = ["grpcAddr", "httpAddr"].map((flag) => `--${flag}=127.0.0.1:0`);
  const args = ["node", "istiod", "discovery", `--kubeconfig=${kubeconfig}`, "--ctrlz_port=0", ...listening, ...off];
  const program = `import { run } from ${JSON.stringify(main.href)}; await run(${JSON.stringify(args)});`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    env: { ...process.env, POD_NAME: "istiod-a", PILOT_DEBOUNCE_AFTER: "10ms" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout?.resume();
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

interface RouteStatus {
  readonly parents?: readonly { readonly conditions: readonly { readonly type: string; readonly status: string }[] }[];
}

interface GatewayStatus {
  readonly listeners?: readonly { readonly name: string; readonly attachedRoutes: number }[];
}

function isAccepted({ objects }: ApiServer, name: string): boolean {
  const found = objects.get({ apiVersion: `${group}/v1`, kind: "HTTPRoute", namespace: "shop", name });
  const { parents = [] } = (found?.["status"] ?? {}) as RouteStatus;
  return parents.some(({ conditions }) =>
    conditions.some(({ type, status }) => type === "Accepted" && status === "True"),
  );
}

function attached({ objects }: ApiServer): Readonly<Record<string, number>> {
  const found = objects.get({ apiVersion: `${group}/v1`, kind: "Gateway", namespace: "shop", name: "edge" });
  const { listeners = [] } = (found?.["status"] ?? {}) as GatewayStatus;
  return Object.fromEntries(listeners.map(({ name, attachedRoutes }) => [name, attachedRoutes]));
}

function deployedPorts({ objects }: ApiServer): readonly number[] {
  const found = objects.get({ apiVersion: "v1", kind: "Service", namespace: "shop", name: "edge-istio" });
  return ((found?.["spec"] ?? {}) as { ports?: { port: number }[] }).ports?.map(({ port }) => port) ?? [];
}

/** Returns the number of writes of each route's status. */
function statusWrites({ requests }: ApiServer): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { method, path } of requests) {
    const name = /\/httproutes\/([^/?]+)\/status/.exec(path)?.[1];
    if (method !== "GET" && name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

test("a leader that is killed while it writes statuses is replaced: nothing is lost, or written twice", async () => {
  const { server, kubeconfig } = await startCluster();
  for (const object of [service, gateway(80), route("first")]) await server.objects.create(object);
  const leader = startProcess(kubeconfig);
  await vi.waitFor(() => {
    expect(isAccepted(server, "first")).toBe(true);
    expect(deployedPorts(server)).toContain(80);
  }, until);
  await serve({ kubeconfig }, { POD_NAME: "istiod-b" });
  const burst = Array.from({ length: 60 }, (_, i) => `r-${i}`);
  for (const name of burst) await server.objects.create(route(name));
  await vi.waitFor(() => expect(statusWrites(server).size).toBeGreaterThan(1), { ...until, interval: 1 });
  const exited = once(leader, "exit");
  leader.kill("SIGKILL");
  await exited;
  await server.objects.create(route("later"));
  await server.objects.update(gateway(80, 8080));
  const all = ["first", ...burst, "later"];
  await vi.waitFor(() => {
    expect(all.filter((name) => !isAccepted(server, name))).toEqual([]);
    expect(attached(server)).toEqual({ "p-80": all.length, "p-8080": 0 });
    expect(deployedPorts(server)).toEqual(expect.arrayContaining([80, 8080]));
  }, until);
  const leases = server.objects.list({ apiVersion: "coordination.k8s.io/v1", kind: "Lease" });
  const holders = leases.map(({ spec }) => (spec as { holderIdentity: string }).holderIdentity);
  expect(new Set(holders)).toEqual(new Set(["istiod-b"]));
  const writes = statusWrites(server);
  expect(all.filter((name) => (writes.get(name) ?? 0) !== 1)).toEqual([]);
}, 240_000);
