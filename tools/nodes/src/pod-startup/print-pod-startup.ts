import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { type ApiClient, ApiError, createApiClient, readKubeconfig } from "@istiod/kubernetes";
import type { ContainerStatus, Pod } from "../kube/objects.js";
import { type AnyObject, ObjectApplier } from "../sample/apply-objects.js";
import { installIstiod } from "../sample/install-bookinfo.js";

const NAMESPACE = "startup";
const TIMEOUT_MS = 120_000;
const INTERVAL_MS = 20;

/** Milliseconds from the request to create a Pod. */
interface Startup {
  /** Until the answer, which includes injection. */
  readonly createdMs: number;
  /** Until the traffic is redirected. */
  readonly redirectedMs: number;
  /** Until the proxy has started. */
  readonly startedMs: number;
  /** Until the Pod is ready. */
  readonly readyMs: number;
}

/**
 * Creates injected Pods with each of some images of the proxy, in turns, and prints the medians of the time until they
 * are ready. KUBECONFIG names the kubeconfig.
 */
export async function printPodStartup(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      image: { type: "string", multiple: true, default: ["proxyv2"] },
      pods: { type: "string", default: "10" },
    },
  });
  const kubeconfig = process.env["KUBECONFIG"];
  if (!kubeconfig) throw new Error("pod-startup: KUBECONFIG must name the cluster's kubeconfig");
  const count = Number(values.pods);
  if (!Number.isInteger(count) || count < 1 || count > 1000)
    throw new Error(`--pods is ${values.pods}: must be a whole number between 1 and 1000`);
  const client = createApiClient(await readKubeconfig(kubeconfig), { qps: 1000, burst: 1000 });
  try {
    await installIstiod(client, { istiodValues: { replicaCount: 1 } });
    const labels = { "istio-injection": "enabled" };
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE, labels } } as AnyObject;
    await new ObjectApplier(client).apply([namespace]);
    const found = new Map<string, Startup[]>(values.image.map((image) => [image, []]));
    // The first of each reads its files into the machine's memory.
    for (let index = 0; index <= count; index++)
      for (const [image, startups] of found) {
        const startup = await startPod(client, `web-${image}-${index}`, image);
        if (index > 0) startups.push(startup);
      }
    process.stdout.write(
      "| image | created | redirected | proxy started | ready | slowest |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for (const [image, startups] of found) process.stdout.write(rowOf(image, startups));
    return 0;
  } finally {
    client.close();
  }
}

/** Creates a Pod, waits until it is ready, and deletes it. */
async function startPod(client: ApiClient, name: string, proxyImage: string): Promise<Startup> {
  const pods = `/api/v1/namespaces/${NAMESPACE}/pods`;
  const pod = {
    metadata: { name, annotations: { "sidecar.istio.io/proxyImage": proxyImage } },
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "web", image: "echo" }] },
  };
  const started = performance.now();
  const since = (): number => performance.now() - started;
  await client.json({ method: "POST", path: pods, body: JSON.stringify(pod) });
  const times: { -readonly [K in keyof Startup]?: Startup[K] } = { createdMs: since() };
  while (times.readyMs === undefined) {
    const { status } = await client.json<Pod>({ path: `${pods}/${name}` });
    const [init, proxy] = ["istio-init", "istio-proxy"].map((container) =>
      [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
        (each) => each.name === container,
      ),
    );
    if (hasEnded(init)) times.redirectedMs ??= since();
    if (proxy?.state?.running !== undefined) times.startedMs ??= since();
    if (status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True")) times.readyMs = since();
    else if (since() > TIMEOUT_MS)
      throw new Error(`Pod ${NAMESPACE}/${name} is not ready after ${TIMEOUT_MS / 1000} s`);
    else await sleep(INTERVAL_MS);
  }
  await remove(client, `${pods}/${name}`);
  const { createdMs = 0, redirectedMs = NaN, startedMs = NaN, readyMs } = times;
  return { createdMs, redirectedMs, startedMs, readyMs };
}

const hasEnded = (status: ContainerStatus | undefined): boolean => status?.state?.terminated !== undefined;

/** Deletes a Pod, and waits until it is gone. */
async function remove(client: ApiClient, path: string): Promise<void> {
  await client.json({ method: "DELETE", path, query: { gracePeriodSeconds: 0 } });
  const deadline = Date.now() + TIMEOUT_MS;
  const isGone = (error: unknown): true => {
    if (error instanceof ApiError && error.code === "not-found") return true;
    throw error;
  };
  while ((await client.json({ path }).then(() => false, isGone)) === false) {
    if (Date.now() > deadline) throw new Error(`${path} still exists after ${TIMEOUT_MS / 1000} s`);
    await sleep(INTERVAL_MS);
  }
}

function rowOf(image: string, startups: readonly Startup[]): string {
  const median = (field: keyof Startup): string => {
    const sorted = startups.map((startup) => startup[field]).sort((a, b) => a - b);
    return (sorted[Math.floor(sorted.length / 2)] ?? NaN).toFixed(0);
  };
  const slowest = Math.max(...startups.map(({ readyMs }) => readyMs)).toFixed(0);
  const medians = (["createdMs", "redirectedMs", "startedMs", "readyMs"] as const).map(median);
  return `| ${image} | ${medians.join(" ms | ")} ms | ${slowest} ms |\n`;
}
