import { type ApiClient, resourcePath } from "@istiod/kubernetes";

/** A Pod of a control plane that runs. */
export interface ReplicaPod {
  readonly name: string;
  readonly address: string;
}

export interface ReplicaPodsOptions {
  readonly namespace: string;
  readonly revision: string;
}

interface PodList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly status?: { readonly phase?: string; readonly podIP?: string };
  }[];
}

const pods = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };

/**
 * Returns the Pods of one revision of a control plane, by the labels `app: istiod` and `istio.io/rev`, as `istioctl`
 * does. Pods that are not ready and Pods that are being deleted are among them, because proxies may still be connected
 * to them. Pods that do not run yet or any more have no proxies.
 *
 * @throws ApiError
 */
export async function replicaPods(
  client: ApiClient,
  { namespace, revision }: ReplicaPodsOptions,
): Promise<readonly ReplicaPod[]> {
  const { items = [] } = await client.json<PodList>({
    path: resourcePath(pods, { namespace }),
    query: { labelSelector: `app=istiod,istio.io/rev=${revision}` },
    timeoutMs: 5000,
  });
  return items.flatMap(({ metadata, status }) => {
    const hasEnded = ["Pending", "Succeeded", "Failed"].includes(status?.phase ?? "Pending");
    if (hasEnded || !status?.podIP || metadata?.name === undefined) return [];
    return [{ name: metadata.name, address: status.podIP }];
  });
}
