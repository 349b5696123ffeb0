import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "@istiod/kubernetes";
import type { Pod } from "../kube/objects.js";
import type { ObjectApplier } from "../sample/apply-objects.js";
import type { Revision } from "./control-planes.js";
import { deploymentOf, namespaceOf } from "./relays.js";

const INTERVAL_MS = 500;

/**
 * Moves a namespace as the documentation tells: labels it with the revision, restarts its Deployment, and waits until
 * only Pods that the revision has injected are left.
 *
 * @throws Error that names the Pods that are left after the timeout
 */
export async function moveNamespace(
  client: ApiClient,
  applier: ObjectApplier,
  namespace: string,
  revision: Revision,
  timeoutMs: number,
): Promise<void> {
  await applier.apply([namespaceOf(namespace, revision)]);
  await restart(client, namespace);
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const pods = await podsOf(client, namespace);
    const left = pods.filter((pod) => !isMoved(pod, revision));
    if (pods.length > 0 && left.length === 0) return;
    if (Date.now() > deadline) throw new Error(`${namespace}: ${describe(left)} after ${timeoutMs / 1000} s`);
    await sleep(INTERVAL_MS);
  }
}

async function restart(client: ApiClient, namespace: string): Promise<void> {
  const annotations = { "kubectl.kubernetes.io/restartedAt": new Date().toISOString() };
  await client.json({
    method: "PATCH",
    path: `/apis/apps/v1/namespaces/${namespace}/deployments/${deploymentOf(namespace)}`,
    contentType: "application/strategic-merge-patch+json",
    body: JSON.stringify({ spec: { template: { metadata: { annotations } } } }),
  });
}

async function podsOf(client: ApiClient, namespace: string): Promise<readonly Pod[]> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  return (await client.json<{ readonly items: readonly Pod[] }>({ path })).items;
}

/** Reports whether a Pod is ready, stays, and was injected by a revision. */
function isMoved({ metadata, status }: Pod, revision: Revision): boolean {
  const isReady = (status?.conditions ?? []).some((each) => each.type === "Ready" && each.status === "True");
  return isReady && metadata.deletionTimestamp === undefined && metadata.annotations?.["istio.io/rev"] === revision;
}

const describe = (pods: readonly Pod[]): string =>
  pods.length === 0
    ? "no Pods"
    : pods
        .map(({ metadata }) => `Pod ${metadata.name} of ${metadata.annotations?.["istio.io/rev"] ?? "none"}`)
        .join(", ");
