import type { ResourceType } from "@istiod/kubernetes";

function namespaced(group: string, kind: string, plural: string, version = "v1"): ResourceType {
  return { group, version, kind, plural, namespaced: true };
}

/** The types of objects that the nodes read or write. */
export const types = {
  pods: namespaced("", "Pod", "pods"),
  services: namespaced("", "Service", "services"),
  configMaps: namespaced("", "ConfigMap", "configmaps"),
  secrets: namespaced("", "Secret", "secrets"),
  serviceAccounts: namespaced("", "ServiceAccount", "serviceaccounts"),
  namespaces: { ...namespaced("", "Namespace", "namespaces"), namespaced: false },
  nodes: { ...namespaced("", "Node", "nodes"), namespaced: false },
  endpointSlices: namespaced("discovery.k8s.io", "EndpointSlice", "endpointslices"),
  deployments: namespaced("apps", "Deployment", "deployments"),
  replicaSets: namespaced("apps", "ReplicaSet", "replicasets"),
  statefulSets: namespaced("apps", "StatefulSet", "statefulsets"),
  daemonSets: namespaced("apps", "DaemonSet", "daemonsets"),
  jobs: namespaced("batch", "Job", "jobs"),
  disruptionBudgets: namespaced("policy", "PodDisruptionBudget", "poddisruptionbudgets"),
  autoscalers: namespaced("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "v2"),
  trustBundles: {
    ...namespaced("certificates.k8s.io", "ClusterTrustBundle", "clustertrustbundles", "v1beta1"),
    namespaced: false,
  },
} satisfies Record<string, ResourceType>;
