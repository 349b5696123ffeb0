import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ApiClient, createApiClient, parseKubeconfig, requestToken } from "@istiod/kubernetes";
import { expect, onTestFinished, test } from "vitest";
import { helmUnavailable } from "../src/index.js";
import { clusterUnavailable, startDefinedCluster } from "./defined-cluster.js";
import { startRecordingProxy } from "./recording-proxy.js";
import { Charts, collectionPath, type RenderedObject } from "./rendered-charts.js";

const app = fileURLToPath(new URL("../../../apps/istiod/", import.meta.url));
const noBundle = existsSync(join(app, "bundle/main.js")) ? undefined : "there is no bundle of istiod: npm run build";
const unavailable = (await helmUnavailable()) ?? (await clusterUnavailable()) ?? noBundle;
const until = { timeout: 60_000, interval: 100 };
/** Their objects would start Pods, for which this API server has no controllers. */
const pods = new Set(["Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget"]);

const kubeconfig = (server: string, token: string): string => `apiVersion: v1
kind: Config
current-context: istiod
contexts: [{ name: istiod, context: { cluster: mesh, user: istiod } }]
clusters: [{ name: mesh, cluster: { server: "${server}" } }]
users: [{ name: istiod, user: { token: "${token}" } }]
`;

async function createAll(client: ApiClient, objects: readonly RenderedObject[]): Promise<void> {
  for (const object of objects)
    await client.json({ method: "POST", path: collectionPath(object), body: JSON.stringify(object) });
}

const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
const inShop = (apiVersion: string, kind: string, name: string, fields: object) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "shop" },
  ...fields,
});
const mesh = [
  inShop("v1", "Service", "cart", { spec: { selector: { app: "cart" }, ports: [{ name: "http", port: 80 }] } }),
  inShop("v1", "Secret", "edge", { type: "kubernetes.io/tls", data: { "tls.crt": "QQ==", "tls.key": "QQ==" } }),
  inShop("networking.istio.io/v1", "ServiceEntry", "db", {
    spec: { hosts: ["db.example.com"], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "DNS" },
  }),
  inShop("networking.k8s.io/v1", "Ingress", "edge", {
    spec: {
      ingressClassName: "istio",
      rules: [
        {
          host: "shop.example.com",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "cart", port: { number: 80 } } } }],
          },
        },
      ],
    },
  }),
];

async function startIstiod(file: string): Promise<void> {
  const flags = ["--kubeconfig", file, "--grpcAddr", "", "--secureGRPCAddr", "127.0.0.1:0"];
  const ports = ["--httpAddr", "127.0.0.1:0", "--httpsAddr", "", "--monitoringAddr", "", "--ctrlz_port", "0"];
  const istiod = spawn(process.execPath, [join(app, "bin/istiod.js"), "discovery", ...flags, ...ports], {
    env: { PATH: process.env["PATH"], POD_NAMESPACE: "istio-system", POD_NAME: "istiod-0" },
    stdio: "ignore",
  });
  onTestFinished(async () => {
    if (istiod.exitCode !== null) return;
    istiod.kill("SIGKILL");
    await once(istiod, "exit");
  });
}

test("istiod reads and writes a cluster with the permissions of the chart, without a forbidden request", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const charts = await Charts.copy();
  onTestFinished(() => charts.remove());
  const cluster = await startDefinedCluster();
  onTestFinished(() => cluster.stop());
  const proxy = await startRecordingProxy(cluster.server);
  onTestFinished(() => proxy.stop());
  const objects = (await charts.render("istiod")).filter(({ kind }) => !pods.has(kind));
  await createAll(cluster.client, [namespace("istio-system"), namespace("shop"), ...objects, ...mesh]);
  const { token } = await requestToken(cluster.client, { namespace: "istio-system", name: "istiod" });
  const directory = await mkdtemp(join(tmpdir(), "istiod-permissions-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "kubeconfig");
  await writeFile(file, kubeconfig(proxy.url, token));
  await startIstiod(file);

  const read = (path: string): Promise<unknown> => cluster.client.json({ path }).catch((error: unknown) => error);
  await expect
    .poll(() => read("/api/v1/namespaces/shop/configmaps/istio-ca-root-cert"), until)
    .toMatchObject({ data: { "root-cert.pem": expect.stringContaining("BEGIN CERTIFICATE") } });
  await expect
    .poll(() => read("/apis/networking.istio.io/v1/namespaces/shop/serviceentries/db"), until)
    .toMatchObject({ status: { addresses: [expect.anything(), expect.anything()] } });
  expect(await read("/api/v1/namespaces/istio-system/secrets/istio-ca-secret")).toMatchObject({ kind: "Secret" });
  expect(proxy.forbidden).toEqual([]);

  // The proxy records what is forbidden.
  const asIstiod = createApiClient(await parseKubeconfig(kubeconfig(proxy.url, token)));
  onTestFinished(() => asIstiod.close());
  await expect(asIstiod.json({ path: "/apis/apps/v1/deployments" })).rejects.toMatchObject({ code: "forbidden" });
  expect(proxy.forbidden).toEqual(["GET /apis/apps/v1/deployments"]);
}, 240_000);
