import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type ApiClient, requestToken } from "@istiod/kubernetes";
import { onTestFinished } from "vitest";
import { helmUnavailable } from "../src/index.js";
import { clusterUnavailable, type DefinedCluster, startDefinedCluster } from "./defined-cluster.js";
import { type RecordingProxy, startRecordingProxy } from "./recording-proxy.js";
import { Charts, collectionPath, type RenderedObject } from "./rendered-charts.js";

const app = fileURLToPath(new URL("../../../apps/istiod/", import.meta.url));
const noBundle = existsSync(join(app, "bundle/main.js")) ? undefined : "there is no bundle of istiod: npm run build";
/** Their objects would start Pods, for which this API server has no controllers. */
const pods = new Set(["Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget"]);

/** Returns the reason why istiod cannot be installed; undefined if it can. */
export async function installationUnavailable(): Promise<string | undefined> {
  return (await helmUnavailable()) ?? (await clusterUnavailable()) ?? noBundle;
}

/** A cluster with the objects of the chart istiod, but for its Pods. */
export interface InstalledChart {
  readonly cluster: DefinedCluster;
  /** In front of the API server, for istiod. */
  readonly proxy: RecordingProxy;
  /** With the token of istiod's ServiceAccount, through the proxy. */
  readonly kubeconfig: string;
  /** The container of istiod's Deployment, which is not in the cluster. */
  readonly container: { readonly env: readonly { readonly name: string; readonly value?: string }[] };
}

/** Installs the chart istiod in a new cluster, which is stopped with the test. */
export async function installChart(objects: readonly object[], ...values: readonly string[]): Promise<InstalledChart> {
  const charts = await Charts.copy();
  onTestFinished(() => charts.remove());
  const cluster = await startDefinedCluster();
  onTestFinished(() => cluster.stop());
  const proxy = await startRecordingProxy(cluster.server);
  onTestFinished(() => proxy.stop());
  const rendered = await charts.render("istiod", ...values);
  await createAll(cluster.client, [
    namespace("istio-system"),
    namespace("shop"),
    ...rendered.filter(({ kind }) => !pods.has(kind)),
    ...(objects as readonly RenderedObject[]),
  ]);
  const { token } = await requestToken(cluster.client, { namespace: "istio-system", name: "istiod" });
  const deployment = rendered.find(({ kind }) => kind === "Deployment");
  return {
    cluster,
    proxy,
    kubeconfig: kubeconfig(proxy.url, token),
    container: deployment?.["spec"].template.spec.containers[0],
  };
}

const kubeconfig = (server: string, token: string): string => `apiVersion: v1
kind: Config
current-context: istiod
contexts: [{ name: istiod, context: { cluster: mesh, user: istiod } }]
clusters: [{ name: mesh, cluster: { server: "${server}" } }]
users: [{ name: istiod, user: { token: "${token}" } }]
`;

const namespace = (name: string): RenderedObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });

async function createAll(client: ApiClient, objects: readonly RenderedObject[]): Promise<void> {
  for (const object of objects)
    await client.json({ method: "POST", path: collectionPath(object), body: JSON.stringify(object) });
}

/** Starts istiod, which is killed with the test. Returns its log. */
export async function startIstiod(
  { kubeconfig }: Pick<InstalledChart, "kubeconfig">,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-permissions-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "kubeconfig");
  await writeFile(file, kubeconfig);
  const flags = ["--kubeconfig", file, "--grpcAddr", "", "--secureGRPCAddr", "127.0.0.1:0"];
  const ports = ["--httpAddr", "127.0.0.1:0", "--httpsAddr", "", "--monitoringAddr", "", "--ctrlz_port", "0"];
  const istiod = spawn(process.execPath, [join(app, "bin/istiod.js"), "discovery", ...flags, ...ports], {
    env: { PATH: process.env["PATH"], POD_NAMESPACE: "istio-system", POD_NAME: "istiod-0", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const log: string[] = [];
  createInterface(istiod.stdout).on("line", (line) => log.push(line));
  onTestFinished(async () => {
    if (istiod.exitCode !== null) return;
    istiod.kill("SIGKILL");
    await once(istiod, "exit");
  });
  return log;
}
