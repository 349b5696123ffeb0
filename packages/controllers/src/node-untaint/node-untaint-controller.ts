import { collection, index, query } from "@istiod/incremental";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Controller, Observed, Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";

export interface NodeUntaintOptions {
  /** Namespace of the CNI plugin's pods. */
  readonly namespace: string;
  /** Key of the taint (`PILOT_NODE_UNTAINT_CONTROLLERS_TAINT_NAME`). Default: `cni.istio.io/not-ready`. */
  readonly taint?: string;
}

interface Taint {
  readonly key: string;
  readonly [field: string]: unknown;
}

interface CniPod {
  readonly node: string;
  readonly isReady: boolean;
}

const nodeType: ResourceType = { group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false };
const podType: ResourceType = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };

/** Returns the controller that removes a taint from the nodes on which the CNI plugin is ready. */
export function nodeUntaintController({ namespace, taint = "cni.istio.io/not-ready" }: NodeUntaintOptions): Controller {
  const nodes = collection<Observed<readonly Taint[]>>("Node");
  const pods = collection<Observed<CniPod>>("Pod");
  const readyPodsByNode = index(pods, "readyByNode", ({ value }) => (value.isReady ? [value.node] : []));

  const targets = query("taintedNodes", (q): readonly string[] =>
    [...q.keys(nodes)].filter((node) => q.read(nodes, node)?.value.some(({ key }) => key === taint)),
  );
  const write = query("untaintNode", (q, node: string): Write | undefined => {
    const observed = q.read(nodes, node);
    if (observed === undefined || [...q.read(readyPodsByNode, node)].length === 0) return undefined;
    const left = observed.value.filter(({ key }) => key !== taint);
    if (left.length === observed.value.length) return undefined;
    return {
      action: "patch",
      type: nodeType,
      name: { name: node },
      base: observed.resourceVersion,
      operations: [
        { op: "test", path: "/spec/taints", value: observed.value },
        { op: "replace", path: "/spec/taints", value: left },
      ],
    };
  });
  const watchNodes: Watch<readonly Taint[]> = {
    type: nodeType,
    collection: nodes,
    fields: { spec: { taints: true } },
    select: (node) => (node as { readonly spec?: { readonly taints?: readonly Taint[] } }).spec?.taints ?? [],
  };
  const watchPods: Watch<CniPod> = {
    type: podType,
    collection: pods,
    namespace,
    labelSelector: "k8s-app=istio-cni-node",
    fieldSelector: "status.phase!=Failed",
    fields: { spec: { nodeName: true }, status: { conditions: { type: true, status: true } } },
    select: cniPod,
  };
  return {
    name: "node untaint controller",
    fieldManager: "istiod-node-untaint",
    watches: [watchNodes as Watch, watchPods as Watch],
    targets,
    write,
  };
}

interface Pod extends KubernetesObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function cniPod({ spec, status }: Pod): CniPod | undefined {
  const node = spec?.nodeName;
  if (node === undefined) return undefined;
  const isReady = status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  return { node, isReady };
}
