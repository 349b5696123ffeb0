import {
  clusterKey,
  type PodObject,
  pods,
  podsByNodeAccount,
  readDiscovered,
  undiscoveredNamespace,
} from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";

/** The identity of a Pod, and its node. */
export interface NodePod {
  /** Empty for Pods of files. */
  readonly uid: string;
  /** Empty until the Pod is scheduled. */
  readonly node: string;
  readonly serviceAccount: string;
}

/** The service account of Pods on a node. */
export interface AccountOnNode {
  readonly cluster: string;
  readonly node: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** Returns the Pods of all clusters in discovered namespaces by name, and by node and service account. */
export function nodePods(database: Pick<Database<never>, "read">): {
  pod(cluster: string, namespace: string, name: string): NodePod | undefined;
  runs(account: AccountOnNode): boolean;
} {
  return {
    pod(cluster, namespace, name) {
      const found = readDiscovered(database, pods, clusterKey({ cluster, namespace, name }));
      if (found === undefined) return undefined;
      const { uid = "", nodeName: node, serviceAccountName: serviceAccount } = found.spec;
      return { uid, node, serviceAccount };
    },
    runs({ cluster, node, namespace, serviceAccount }) {
      const found = database.read(podsByNodeAccount, `${cluster}/${node}/${namespace}/${serviceAccount}`);
      return found.some(
        (pod) => !hasEnded(pod) && undiscoveredNamespace(database, pods, clusterKey(pod)) === undefined,
      );
    },
  };
}

function hasEnded({ status }: PodObject): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
