import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { statusExits } from "@istiod/replicas";
import { EnvoyClient, XdsClient } from "@istiod/xds-server/testing";
import type { Command } from "commander";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  authzCommand,
  explainCommand,
  proxyStatusCommand,
  remoteClustersCommand,
  replicasCommand,
  statusCommand,
} from "@istiod/commands";
import { offlineMeshes } from "../src/offline-mesh.js";
import { folder, serve } from "./serving.js";

type Istiod = Awaited<ReturnType<typeof serve>>;

interface Result {
  readonly exit: number | undefined;
  readonly out: string;
  readonly error: string;
}

const group = "networking.istio.io";
const name = "VirtualService/shop/cart";
const route = (timeout: string) => ({
  apiVersion: `${group}/v1`,
  kind: "VirtualService",
  metadata: { name: "cart", namespace: "shop" },
  spec: { hosts: ["cart"], http: [{ route: [{ destination: { host: "cart" } }], timeout }] },
});
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "cart", namespace: "shop" },
  spec: { ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 80 }], clusterIP: "10.96.0.10" },
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Runs a command of a group as the command line does. */
async function run(
  command: (output: {
    print: (text: string) => void;
    warn: (text: string) => void;
    exit: (status: number) => void;
  }) => Command,
  ...args: readonly string[]
): Promise<Result> {
  let [out, error] = ["", ""];
  let exit: number | undefined;
  const built = command({
    print: (text) => (out += text),
    warn: (text) => (error += text),
    exit: (status) => (exit = status),
  });
  try {
    await built.parseAsync([...args], { from: "user" });
  } catch (failed) {
    return { exit: 2, out, error: (failed as Error).message };
  }
  return { exit, out, error };
}

const replicas = (...args: readonly string[]) => run(replicasCommand, ...args);
const status = (...args: readonly string[]) => run((output) => statusCommand(offlineMeshes({}), output), name, ...args);
const proxyStatus = (...args: readonly string[]) => run(proxyStatusCommand, ...args);
const explain = (...args: readonly string[]) =>
  run(({ print, warn, exit }) => explainCommand(offlineMeshes({}), print, warn, exit), ...args);
const authz = (...args: readonly string[]) =>
  run((output) => authzCommand(offlineMeshes({}), output), "check", ...args);

/** Connects a proxy of the namespace shop to an istiod. */
async function connect(istiod: Istiod, workload: string): Promise<EnvoyClient> {
  const metadata = { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.27.0", LABELS: { app: workload } };
  const node = create(NodeSchema, { id: `sidecar~10.0.0.9~${workload}.shop~shop.svc.cluster.local`, metadata });
  const at = { host: "127.0.0.1", port: istiod.addresses["grpcAddr"]?.port ?? 0 };
  const proxy = new EnvoyClient(at, { variant: "delta", node });
  onTestFinished(() => proxy.close());
  await proxy.initialized();
  await proxy.settled();
  return proxy;
}

const names = ["istiod-a", "istiod-b", "istiod-c"] as const;
const labels = { app: "istiod", "istio.io/rev": "default" };

/** Adds a Pod of istiod with an address. */
async function addPod(
  server: ApiServer,
  podName: string,
  podIP: string,
  more: object = {},
  phase = "Running",
): Promise<void> {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: podName, namespace: "istio-system", labels, ...more },
    spec: { containers: [{ name: "discovery", image: "pilot" }] },
  };
  await server.objects.create(pod);
  await server.objects.updateStatus({ ...pod, status: { phase, ...(podIP && { podIP, podIPs: [{ ip: podIP }] }) } });
}

/** Three replicas that read one API server, each with an address of its own and the same port. */
async function threeReplicas(): Promise<{ readonly server: ApiServer; readonly istiods: readonly Istiod[] }> {
  const server = await startApiServer({
    types: [{ group, version: "v1", kind: "VirtualService", plural: "virtualservices", namespaced: true }],
    namespaces: ["shop", "istio-system"],
    bookmarkIntervalMs: 200,
  });
  onTestFinished(() => server.stop());
  await server.objects.create(service);
  await server.objects.create(route("1s"));
  for (const [i, podName] of names.entries()) await addPod(server, podName, `127.0.0.${i + 11}`);
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  const port = await freePort();
  const istiods = await Promise.all(
    names.map((podName, i) =>
      serve({ kubeconfig, secureGRPCAddr: `127.0.0.${i + 11}:${port}` }, { POD_NAME: podName }),
    ),
  );
  return { server, istiods };
}

/** The cells of a table, by line. */
const cells = (table: string): string[][] =>
  table
    .trimEnd()
    .split("\n")
    .map((line) => line.trim().split(/\s{2,}/));

test("whichever replica is asked, the commands and the page are those of all", { timeout: 120_000 }, async () => {
  const { server, istiods } = await threeReplicas();
  const [a, b, c] = istiods as [Istiod, Istiod, Istiod];
  await connect(a, "web");
  await connect(b, "ads");
  for (const { http } of istiods) {
    expect(await status("--istiod", http)).toEqual({
      exit: statusExits.live,
      out: `${name}: live on 2 of 2 proxies\n`,
      error: "",
    });
    const clusters = await run(remoteClustersCommand, "--istiod", http);
    expect(clusters).toMatchObject({ exit: 0, error: "" });
    expect(
      cells(clusters.out)
        .map((row) => row.join(" "))
        .sort(),
    ).toEqual([...names.map((podName) => `Kubernetes synced ${podName}`), "NAME SECRET STATUS ISTIOD"]);
    const table = await replicas("--istiod", http);
    expect([table.exit, ...cells(table.out).map((row) => [row[0], row.at(-2), row.at(-1)])]).toEqual([
      0,
      ["NAME", "PROXIES", "STATE"],
      ["istiod-a", "1", "OK"],
      ["istiod-b", "1", "OK"],
      ["istiod-c", "0", "OK"],
    ]);
  }

  const listed = await proxyStatus("--istiod", c.http);
  expect(cells(listed.out).map((row) => [row[0]?.split("~")[2], row[2]])).toEqual([
    [undefined, "ISTIOD"],
    ["ads.shop", "istiod-b"],
    ["web.shop", "istiod-a"],
  ]);
  const resource = ["--resource", "80", "--type", "rds", "-o", "json"];
  const explained = await explain("--istiod", c.http, "--proxy", "ads.shop", ...resource);
  expect(explained).toMatchObject({ exit: undefined, error: "" });
  expect(JSON.parse(explained.out)).toMatchObject({ connected: true });
  const unconnected = await explain("--istiod", c.http, "--proxy", "nobody.shop", ...resource);
  expect(unconnected).toMatchObject({
    exit: 2,
    error: expect.stringContaining("nobody.shop is not connected") as string,
  });

  const page = (await (await fetch(`${c.http}/?format=json`)).json()) as {
    readonly replicas: readonly { readonly name: string; readonly state: string; readonly isSelf: boolean }[];
    readonly proxies: readonly { readonly name: string; readonly replica: string; readonly href: string }[];
  };
  expect(page.replicas.map((each) => [each.name, each.state, each.isSelf])).toEqual([
    ["istiod-a", "ready", false],
    ["istiod-b", "ready", false],
    ["istiod-c", "ready", true],
  ]);
  expect(page.proxies.map((each) => [each.name, each.replica])).toEqual([
    ["ads.shop", "istiod-b"],
    ["web.shop", "istiod-a"],
  ]);
  const proxyPage = new URL(page.proxies[0]?.href ?? "", `${c.http}/`);
  const details = await (await fetch(proxyPage)).text();
  expect(details).toContain("Mutual TLS to destinations");
  const link = /href="([^"]*command=config_dump[^"]*)"/.exec(details)?.[1]?.replaceAll("&amp;", "&") ?? "";
  expect(await (await fetch(new URL(link, proxyPage))).text()).toContain("ClustersConfigDump");
  const html = await (await fetch(c.http)).text();
  expect(html).toMatch(/<h2 id="replicas-title">Replicas/);

  // One that has moved counts once, though the replica that it has left keeps its connection.
  const moved = await connect(c, "web");
  expect((await status("--istiod", a.http)).out).toBe(`${name}: live on 2 of 2 proxies\n`);
  expect(cells((await replicas("--istiod", b.http)).out).map((row) => row.at(-2))).toEqual(["PROXIES", "0", "1", "1"]);
  expect(cells((await proxyStatus("--istiod", b.http)).out).map((row) => row[2])).toEqual([
    "ISTIOD",
    "istiod-b",
    "istiod-c",
  ]);
  await server.objects.apply(route("2s"));
  await moved.settled();
  expect(await status("--wait", "--istiod", b.http)).toMatchObject({ exit: statusExits.live });
});

test("a replica that has not read an edit yet makes it not live, by name", { timeout: 120_000 }, async () => {
  const { server, istiods } = await threeReplicas();
  const [a] = istiods as [Istiod];
  for (const [i, istiod] of istiods.entries()) await connect(istiod, `web-${i}`);
  const watches = { watch: true, pathPrefix: `/apis/${group}/v1/virtualservices` };
  await server.faults.delayRequests({ ...watches, delayMs: 600_000 });
  await server.faults.dropConnections("end", watches);
  await server.objects.apply(route("2s"));
  const stale = names.map((each) => `  stale: ${each} has not read the latest version from cluster Kubernetes yet\n`);
  const found = await status("--istiod", a.http);
  expect([found.exit, found.out]).toEqual([statusExits.notLive, `${name}: live on 3 of 3 proxies\n${stale.join("")}`]);
  const waiting = status("--wait", "--istiod", a.http);
  await server.faults.clear();
  await server.faults.dropConnections("reset", watches);
  expect(await waiting).toMatchObject({ exit: statusExits.live, out: `${name}: live on 3 of 3 proxies\n` });
});

test("a replica that has ended is named, and every command's exit status says so", { timeout: 120_000 }, async () => {
  const { server, istiods } = await threeReplicas();
  const [a, b, c] = istiods as [Istiod, Istiod, Istiod];
  await connect(a, "web");
  // Pods that have no process are none, and those of other revisions are other control planes.
  await addPod(server, "istiod-done", "127.0.0.19", {}, "Succeeded");
  await addPod(server, "istiod-pending", "", {}, "Pending");
  await addPod(server, "istiod-canary", "127.0.0.20", { labels: { ...labels, "istio.io/rev": "canary" } });
  expect(await replicas("--istiod", b.http)).toMatchObject({ exit: 0 });
  await c.close();
  const silent = /^istiod-c does not answer: .*ECONNREFUSED 127\.0\.0\.13:\d+/m;
  for (const { http } of [a, b]) {
    const found = await status("--istiod", http);
    expect([found.exit, found.out.split("\n")[0]]).toEqual([statusExits.incomplete, `${name}: live on 1 of 1 proxy`]);
    expect(found.out).toMatch(silent);
    expect((await replicas("--istiod", http)).exit).toBe(5);
  }
  const waited = await status("--istiod", a.http, "--wait", "--timeout", "600ms");
  expect(waited.exit).toBe(statusExits.incomplete);
  const commands = [
    await proxyStatus("--istiod", b.http),
    await explain("--istiod", b.http, "--proxy", "web.shop", "--resource", "80", "--type", "rds", "-o", "json"),
  ];
  const said = { exit: 5, error: expect.stringMatching(silent) as string };
  expect(commands).toMatchObject([said, said]);
  const html = await (await fetch(b.http)).text();
  expect(html).toContain("istiod-c: no answer, its proxies are not shown");
  await server.objects.delete({ apiVersion: "v1", kind: "Pod", namespace: "istio-system", name: "istiod-c" });
  await vi.waitFor(async () => expect((await replicas("--istiod", b.http)).exit).toBe(0), 10_000);
});

test("replicas that cannot be found are said", { timeout: 120_000 }, async () => {
  const { server, istiods } = await threeReplicas();
  await server.faults.failRequests({
    status: 503,
    times: 1_000_000,
    pathPrefix: "/api/v1/namespaces/istio-system/pods",
  });
  const { exit, out } = await replicas("--istiod", istiods[0]?.http ?? "");
  expect([exit, out]).toEqual([5, expect.stringMatching(/^other replicas .*NO ANSWER: .*503/m)]);
});

/** Three replicas without Kubernetes, which share a directory and a CA, each with the addresses of all. */
async function givenReplicas(caOf: (i: number) => string = () => "ca"): Promise<readonly Istiod[]> {
  const policy = `{apiVersion: security.istio.io/v1, kind: AuthorizationPolicy, metadata: {name: deny, namespace: shop}, spec: {action: DENY, rules: [{to: [{operation: {paths: ["/admin"]}}]}]}}`;
  const cart = `{apiVersion: v1, kind: Pod, metadata: {name: cart, namespace: shop, labels: {app: cart}, annotations: {sidecar.istio.io/status: "{}"}}, spec: {serviceAccountName: cart, containers: [{name: istio-proxy, image: a}]}, status: {phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}]}}`;
  const root = await folder({ "mesh/a.yaml": JSON.stringify(service), "mesh/b.yaml": policy, "mesh/c.yaml": cart });
  const port = await freePort();
  const replica = names.map((_, i) => `127.0.0.${i + 21}:${port}`);
  const istiods: Istiod[] = [];
  for (const [i, address] of replica.entries())
    istiods.push(
      await serve({ configDir: join(root, "mesh"), caDir: join(root, caOf(i)), secureGRPCAddr: address, replica }),
    );
  return istiods;
}

test("given addresses are asked, this replica among them once", { timeout: 120_000 }, async () => {
  const istiods = await givenReplicas();
  const [a, b] = istiods as [Istiod, Istiod];
  await connect(b, "web");
  const { exit, out } = await replicas("--proxies", "--istiod", a.http);
  expect(exit).toBe(0);
  expect(cells(out)).toHaveLength(5);
  const urls = istiods.flatMap(({ http }) => ["--istiod", http]);
  expect((await replicas(...urls)).exit).toBe(0);
  const dead = `127.0.0.1:${await freePort()}`;
  expect(await replicas(...urls, "--istiod", `http://${dead}`)).toMatchObject({
    exit: 5,
    out: expect.stringMatching(new RegExp(`^http://${dead} .*NO ANSWER: no response: .*ECONNREFUSED`, "m")) as string,
  });
  const question = ["--from", "none", "--to", "cart.shop:80", "--path", "/admin"];
  expect(await authz("--istiod", a.http, ...question)).toMatchObject({ exit: 1, error: "" });
});

test("a replica of another CA, and a caller that it does not know, are not trusted", { timeout: 120_000 }, async () => {
  const [a] = (await givenReplicas((i) => (i === 2 ? "other-ca" : "ca"))) as [Istiod];
  const { exit, out } = await replicas("--istiod", a.http);
  expect(exit).toBe(5);
  expect(out).toMatch(/^127\.0\.0\.23:\d+ .*NO ANSWER: .*certificate/m);
  expect(cells(out)).toHaveLength(4);
});

test(
  "over xDS no replica asks others for a caller, and callers of other namespaces get no answer",
  { timeout: 120_000 },
  async () => {
    const root = await folder({
      "mesh/a.yaml": JSON.stringify(service),
      "tokens/istio-system/istioctl": "token-of-an-operator",
      "tokens/shop/web": "token-of-the-web-proxy",
    });
    const istiod = await serve({
      configDir: join(root, "mesh"),
      caDir: join(root, "ca"),
      tokensDir: join(root, "tokens"),
      secureGRPCAddr: "127.0.0.1:0",
    });
    const ask = async (namespace: string, token: string, resource: string): Promise<string> => {
      const node = create(NodeSchema, {
        id: `sidecar~10.0.0.9~web.${namespace}~${namespace}.svc.cluster.local`,
        metadata: { NAMESPACE: namespace },
      });
      const at = {
        host: "127.0.0.1",
        port: istiod.addresses["secureGRPCAddr"]?.port ?? 0,
        tls: { rejectUnauthorized: false },
      };
      const client = new XdsClient(at, { variant: "sotw", node, headers: { authorization: `Bearer ${token}` } });
      onTestFinished(() => client.close());
      client.subscribe("istio.io/debug", [resource]);
      const answer = client
        .next("istio.io/debug")
        .then(({ resources }) => Buffer.from(resources[0]?.bytes ?? []).toString());
      const ended = client.ended.then((error) => error?.rawMessage ?? "ended");
      return Promise.race([answer, ended]).catch((error: unknown) => (error as { rawMessage: string }).rawMessage);
    };
    const operator = ["istio-system", "token-of-an-operator"] as const;
    expect(await ask(...operator, "replica?command=proxies")).toMatch(/^{"instance":{.*"answer":{"proxies":\[\]}}$/);
    expect(await ask(...operator, "replica?command=force_disconnect&proxyID=web")).toContain("has no shared command");
    expect(await ask(...operator, "replicas?command=proxies")).toContain("there is no debug command replicas");
    for (const command of ["replica?command=config_dump&proxyID=web.shop", "replicas", "page", "proxies"])
      expect(await ask("shop", "token-of-the-web-proxy", command)).toContain("not available for current identity");
  },
);

test("istioctl's //version is redirected, and no path to another host", { timeout: 120_000 }, async () => {
  const istiod = await serve({ configDir: await folder({}) });
  const get = (path: string) => fetch(`${istiod.http}${path}`, { redirect: "manual" });
  expect(await (await fetch(`${istiod.http}//version`)).text()).toBe("0.1.0");
  const redirect = await get("///debug//syncz?namespace=shop");
  expect([redirect.status, redirect.headers.get("location")]).toEqual([307, "/debug/syncz?namespace=shop"]);
  expect((await get("//evil.example/version")).status).toBe(404);
});
