import { existsSync } from "node:fs";
import { get } from "node:http";
import { fileURLToPath } from "node:url";
import { findEnvoy } from "@istiod/envoy-binary";
import { ApiError } from "@istiod/kubernetes";
import { beforeAll, expect, test } from "vitest";
import { installBookinfo, SYSTEM_NAMESPACE, waitForDeployment } from "../src/sample/install-bookinfo.js";
import type { ImageSources } from "../src/agent/images.js";
import { runGrpcPods } from "../src/sample/grpc-pods.js";
import { startSidecar } from "../src/machine/start-sidecar.js";
import { workloadFiles } from "../src/machine/workload-files.js";
import { VerdictRun } from "../src/verdicts/run-verdicts.js";
import { deniedObjects, ineffectiveObjects } from "../src/verdicts/bad-objects.js";
import { goodObjects } from "../src/verdicts/good-objects.js";
import { builtImages, imagesUnavailable } from "./built-images.js";
import { execute } from "./execute.js";
import { patience as usual, unavailable as noNodes, useRig } from "./rig.js";

const noEnvoy = (await findEnvoy()) === undefined ? "there is no Envoy: npm run envoy:install" : undefined;
const apps = ["istiod", "pilot-agent"].map((app) => new URL(`../../../apps/${app}/bundle/main.js`, import.meta.url));
const noBundle = apps.every((bundle) => existsSync(bundle)) ? undefined : "there are no bundles: npm run build";
const unavailable = noNodes ?? noEnvoy ?? noBundle;
const patience = { ...usual, timeout: 300_000 };

/** A client and a server of gRPC in Node, as an image. */
const probe = fileURLToPath(new URL("../../proxyless/dist/node-probe.js", import.meta.url));
const grpc: ImageSources = {
  "grpc-node": { entrypoint: [process.execPath, probe], env: { PROBE: `${process.execPath} ${probe}` } },
};

// The charts' Pods run from the images if these are built, and otherwise by the programs of this machine.
const holder = useRig({ images: { ...builtImages, ...grpc } });
let gateway = "";

interface Answer {
  readonly status: number;
  readonly text: string;
}

const fetchPath = (path: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const request = get({ host: gateway, path, timeout: 30_000, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.on("error", reject);
    request.on("timeout", () => request.destroy(new Error("timeout")));
  });

const statusOf = (path: string): Promise<number> =>
  fetchPath(path).then(
    ({ status }) => status,
    () => 0,
  );

/** Returns the share of answers of the version v3 of reviews. */
async function shareOfV3(requests: number): Promise<number> {
  let count = 0;
  for (let i = 0; i < requests; i++) {
    const { text } = await fetchPath("/reviews");
    if ((JSON.parse(text) as { version: string }).version === "v3") count++;
  }
  return count / requests;
}

const shop = "/apis/networking.istio.io/v1/namespaces/bookinfo/virtualservices";

beforeAll(async () => {
  if (unavailable !== undefined) return;
  // One istiod, so that slow machines start it in time.
  const istiodValues = { replicaCount: 1, env: { PILOT_WORKLOAD_ENTRY_GRACE_PERIOD: "1s" } };
  gateway = await installBookinfo(holder.rig.client, { istiodValues, timeoutMs: 500_000 });
}, 900_000);

test("requests pass an injected gateway and injected Pods with mutual TLS", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  await expect.poll(() => statusOf("/productpage"), patience).toBe(200);
  const { text } = await fetchPath("/productpage");
  expect(JSON.parse(text)).toMatchObject({
    service: "productpage",
    client: expect.stringContaining("URI=spiffe://cluster.local/ns/istio-ingress/sa/istio-ingressgateway"),
    calls: [
      {
        service: "details",
        status: 200,
        answer: { client: expect.stringContaining("URI=spiffe://cluster.local/ns/bookinfo/sa/bookinfo-productpage") },
      },
      { service: "reviews", status: 200 },
    ],
  });
}, 400_000);

test("istiod and the proxies run from their images: as a user of their own, read-only and without a shell", async (context) => {
  const reason = unavailable ?? imagesUnavailable;
  context.skip(reason !== undefined, reason);
  const report = `const fs = require("node:fs"), isThere = (path) => fs.existsSync(path);
    const written = (() => { try { fs.writeFileSync("/written", ""); return "written"; } catch ({ code }) { return code; } })();
    console.log(JSON.stringify({ user: process.getuid(), written, shell: isThere("/bin/sh"), apt: isThere("/usr/bin/apt-get"),
      envoy: isThere("/usr/local/bin/envoy"), iptables: isThere("/usr/sbin/iptables-nft") }));`;
  const containers = [
    ["istio-system", "app=istiod", "discovery", false],
    ["bookinfo", "app=details", "istio-proxy", true],
    ["istio-ingress", "istio=ingressgateway", "istio-proxy", true],
  ] as const;
  for (const [namespace, labels, container, isProxy] of containers) {
    const query = { labelSelector: labels };
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const { items } = await holder.rig.client.json<{ items: { metadata: { name: string } }[] }>({ path, query });
    const pod = items[0]?.metadata.name ?? "";
    const { stdout } = await execute(holder.rig.kubeconfig, { namespace, pod, container }, ["node", "-e", report]);
    const tools = { envoy: isProxy, iptables: isProxy };
    expect(JSON.parse(stdout), namespace).toEqual({ user: 1337, written: "EROFS", shell: false, apt: false, ...tools });
  }
}, 100_000);

test("STRICT mutual TLS refuses plaintext from outside of the mesh", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const script = "curl -sS --max-time 30 http://reviews.bookinfo:9080/; echo exit $?";
  await rig.create("/api/v1/namespaces/default/pods", {
    metadata: { name: "outside", namespace: "default" },
    spec: {
      restartPolicy: "Never",
      containers: [{ name: "curl", image: "curl", command: ["sh", "-c", script] }],
    },
  });
  await expect.poll(async () => (await rig.pod("outside")).status?.phase, patience).toBe("Succeeded");
  // 52: empty answer, 56: reset.
  expect(await rig.logs("outside", "curl")).toMatch(/exit (52|56)/);
}, 400_000);

test("kubectl apply of another weight changes the split at the gateway", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  await expect.poll(() => statusOf("/reviews"), patience).toBe(200);
  const share = await shareOfV3(300);
  expect(share).toBeGreaterThan(0.03);
  expect(share).toBeLessThan(0.2);
  const { spec } = await rig.get<{ spec: { http: { route: { weight?: number }[] }[] } }>(`${shop}/bookinfo`);
  const [v1, v3] = spec.http[1]?.route ?? [];
  Object.assign(v1 as object, { weight: 0 });
  Object.assign(v3 as object, { weight: 100 });
  await rig.patch(`${shop}/bookinfo`, { spec });
  await expect.poll(() => shareOfV3(20), patience).toBe(1);
}, 800_000);

test("a VirtualService that is not valid is rejected with istiod's words", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const destination = { host: "reviews" };
  const object = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "wrong", namespace: "bookinfo" },
    spec: {
      hosts: ["reviews"],
      http: [{ match: [{ uri: { regex: "(" } }], route: [{ destination }] }],
    },
  };
  await expect(holder.rig.create(shop, object)).rejects.toThrow(
    /validation\.istio\.io" denied the request: .*bookinfo\/wrong: http\[0\]\.match\[0\]\.uri\.regex: is not an RE2 pattern/,
  );
}, 100_000);

test("Pods with probes of all kinds become ready with a sidecar, and a Job completes", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const probe = { periodSeconds: 2, timeoutSeconds: 20 };
  const echo = (name: string, args: string[], readinessProbe: object) => ({
    name,
    image: "echo",
    args,
    readinessProbe: { ...probe, ...readinessProbe },
  });
  await rig.create("/api/v1/namespaces/bookinfo/pods", {
    metadata: { name: "probed", namespace: "bookinfo" },
    spec: {
      terminationGracePeriodSeconds: 5,
      containers: [
        echo("http", ["--http", "8080"], { httpGet: { port: 8080, path: "/status/200" } }),
        echo("tcp", ["--http", "8081", "--tcp", "9000"], { tcpSocket: { port: 9000 } }),
        echo("grpc", ["--http", "8082", "--grpc", "9001"], { grpc: { port: 9001 } }),
        echo("exec", ["--http", "8083"], { exec: { command: ["true"] } }),
      ],
    },
  });
  const script = "curl -sS --fail --retry 20 --retry-all-errors http://details:9080/";
  await rig.create("/apis/batch/v1/namespaces/bookinfo/jobs", {
    metadata: { name: "once", namespace: "bookinfo" },
    spec: {
      template: {
        spec: { restartPolicy: "Never", containers: [{ name: "curl", image: "curl", command: ["sh", "-c", script] }] },
      },
    },
  });
  const ready = async (): Promise<unknown> => {
    const { spec, status } = await rig.get("/api/v1/namespaces/bookinfo/pods/probed");
    const names = [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name);
    const isReady = status?.conditions?.find(({ type }) => type === "Ready")?.status;
    return { hasSidecar: names.includes("istio-proxy"), isReady };
  };
  await expect.poll(ready, patience).toEqual({ hasSidecar: true, isReady: "True" });
  const job = () => rig.get<{ status?: { succeeded?: number } }>("/apis/batch/v1/namespaces/bookinfo/jobs/once");
  await expect.poll(async () => (await job()).status?.succeeded, patience).toBe(1);
}, 800_000);

test.for(["grpc-agent", "grpc-simple"] as const)(
  "gRPC applications of the template %s call each other without a proxy, and obey policies",
  { timeout: 400_000 },
  async (template, context) => {
    const reason = unavailable ?? (existsSync(probe) ? undefined : "tools/proxyless is not built: npm run build");
    context.skip(reason !== undefined, reason);
    const seen: string[] = [];
    await runGrpcPods(holder.rig.client, {
      namespace: template,
      template,
      server: "grpc-node",
      client: "grpc-node",
      restartsIstiod: template === "grpc-agent",
      timeoutMs: patience.timeout,
      report: (outcome) => seen.push(outcome),
    });
    expect(seen).toEqual([
      "calls are answered",
      ...(template === "grpc-agent" ? ["calls without mutual TLS fail"] : []),
      "calls are denied by a policy",
      ...(template === "grpc-agent"
        ? ["calls are answered while istiod is restarted", "the restarted istiod denies calls by a policy"]
        : []),
    ]);
  },
);

/** An attempt that has failed leaves its objects to the next one. */
function unlessItExists(error: unknown): void {
  if (!(error instanceof ApiError && error.code === "already-exists")) throw error;
}

/** Answers with the identity of the client. A signal ends its health, and the next one restores it. */
const machineProgram = `
let isHealthy = true;
process.on("SIGUSR2", () => (isHealthy = !isHealthy));
require("node:http").createServer((request, response) => {
  const isFailed = request.url === "/healthz" && !isHealthy;
  response.writeHead(isFailed ? 500 : 200).end(String(request.headers["x-forwarded-client-cert"]));
}).listen(8080);`;

test("a machine registers itself, and gets traffic over mutual TLS while its application is healthy", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const namespace = "bookinfo";
  const group = {
    metadata: { name: "vms", namespace },
    spec: {
      metadata: { labels: { app: "vm" } },
      template: { serviceAccount: "vm" },
      probe: { periodSeconds: 1, failureThreshold: 1, httpGet: { path: "/healthz", port: 8080 } },
    },
  };
  const create = (path: string, object: object) => rig.create(path, object).catch(unlessItExists);
  await create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: "vm", namespace } });
  await create(`/apis/networking.istio.io/v1/namespaces/${namespace}/workloadgroups`, {
    apiVersion: "networking.istio.io/v1",
    kind: "WorkloadGroup",
    ...group,
  });
  await create(`/api/v1/namespaces/${namespace}/services`, {
    metadata: { name: "vm", namespace },
    spec: { selector: { app: "vm" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  });
  const script = "while :; do curl -sS -m 9 -w ' %{http_code}\\n' http://vm/; sleep 0.3; done";
  await create(`/api/v1/namespaces/${namespace}/pods`, {
    metadata: { name: "caller", namespace },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "curl", image: "curl", command: ["sh", "-c", script] }],
    },
  });

  const machine = await rig.nodes.createMachine("vm-1");
  context.onTestFinished(() => machine.stop());
  const command = [process.execPath, "-e", machineProgram];
  const application = await machine.start("application", { command, user: 1000 });
  const agent = await startSidecar(machine, await workloadFiles(rig.client, group, machine.address));

  const entries = `/apis/networking.istio.io/v1/namespaces/${namespace}/workloadentries`;
  const read = () => rig.get<WorkloadEntry>(`${entries}/vms-${machine.address}`);
  const isHealthy = async () =>
    (await read().catch(() => undefined))?.status?.conditions?.find(({ type }) => type === "Healthy")?.status;
  await expect.poll(isHealthy, patience).toBe("True");
  const labels = {
    app: "vm",
    "service.istio.io/canonical-name": "vm",
    "service.istio.io/canonical-revision": "latest",
  };
  const uid = (await rig.get(`${entries.replace("entries", "groups")}/vms`)).metadata.uid;
  expect(await read()).toMatchObject({
    metadata: {
      labels,
      annotations: {
        "istio.io/autoRegistrationGroup": "vms",
        "istio.io/workloadController": expect.stringMatching(/^istiod-/),
        "proxy.istio.io/health-checks-enabled": "true",
      },
      ownerReferences: [{ kind: "WorkloadGroup", name: "vms", uid, controller: true }],
    },
    spec: { address: machine.address, labels, serviceAccount: "vm" },
  });

  const lastAnswer = async () => (await rig.logs("caller", "curl", namespace)).trimEnd().split("\n").at(-1);
  const delivered = expect.stringMatching(/By=spiffe:\/\/cluster.local\/ns\/bookinfo\/sa\/vm;.*sa\/default 200$/);
  await expect.poll(lastAnswer, patience).toEqual(delivered);
  await application.kill("SIGUSR2");
  await expect.poll(isHealthy, patience).toBe("False");
  await expect.poll(lastAnswer, patience).toBe("no healthy upstream 503");
  await application.kill("SIGUSR2");
  await expect.poll(isHealthy, patience).toBe("True");
  await expect.poll(lastAnswer, patience).toEqual(delivered);

  await agent.kill("SIGTERM");
  expect((await agent.exited).exitCode).toBe(0);
  await expect.poll(() => read().catch((error: unknown) => String(error)), patience).toContain("not found");
  await rig.remove(`/api/v1/namespaces/${namespace}/pods/caller`);
}, 400_000);

interface WorkloadEntry {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

test("istiod status --wait is right about good and bad objects, and names a replica that is killed", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { client, patch } = holder.rig;
  await patch(`/apis/apps/v1/namespaces/${SYSTEM_NAMESPACE}/deployments/istiod`, { spec: { replicas: 2 } });
  await waitForDeployment(client, SYSTEM_NAMESPACE, "istiod", { timeoutMs: 300_000 });
  const run = new VerdictRun(client);
  const [good, bad, denied] = [goodObjects[0], ineffectiveObjects[0], deniedObjects[0]];
  if (good === undefined || bad === undefined || denied === undefined) throw new Error("there are no cases");
  const rows = [await run.ask(good), await run.ask(bad), await run.ask(denied), ...(await run.askAfterKill(good))];
  expect(rows.map(({ expected, seen, isRight, text }) => [expected, seen, isRight ? "" : text])).toEqual([
    ["live", "live", ""],
    ["ineffective", "ineffective", ""],
    ["denied", "denied", ""],
    ["incomplete", "incomplete", ""],
    ["live", "live", ""],
  ]);
}, 600_000);
