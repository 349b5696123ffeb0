import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "@istiod/kubernetes";
import { clusterClient, wholeNumber } from "../cluster-client.js";
import type { ContainerStatus, Pod } from "../kube/objects.js";
import { removeObject } from "../kube/remove-object.js";
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
  const count = wholeNumber("--pods", values.pods, 1000);
  const client = await clusterClient("pod-startup");
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
  await removeObject(client, `${pods}/${name}`, { gracePeriodSeconds: 0 });
  const { createdMs = 0, redirectedMs = NaN, startedMs = NaN, readyMs } = times;
  return { createdMs, redirectedMs, startedMs, readyMs };
}

const hasEnded = (status: ContainerStatus | undefined): boolean => status?.state?.terminated !== undefined;

function rowOf(image: string, startups: readonly Startup[]): string {
  const median = (field: keyof Startup): string => {
    const sorted = startups.map((startup) => startup[field]).sort((a, b) => a - b);
    return (sorted[Math.floor(sorted.length / 2)] ?? NaN).toFixed(0);
  };
  const slowest = Math.max(...startups.map(({ readyMs }) => readyMs)).toFixed(0);
  const medians = (["createdMs", "redirectedMs", "startedMs", "readyMs"] as const).map(median);
  return `| ${image} | ${medians.join(" ms | ")} ms | ${slowest} ms |\n`;
}
