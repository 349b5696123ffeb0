import { integerSetting, listSetting, mapSetting, numberSetting, stringSetting } from "@istiod/settings";

/** The flags of istiod's own cluster and of remote clusters. */
export const kubernetesFlags = {
  registries: listSetting({
    flag: "registries",
    placeholder: "names",
    default: ["Kubernetes"],
    help: "service registries: Kubernetes; empty to read no cluster",
  }),
  kubeconfig: stringSetting({
    flag: "kubeconfig",
    placeholder: "file",
    default: "",
    help: "kubeconfig of the cluster to read; empty for the cluster that istiod runs in, if any",
  }),
  kubernetesApiQPS: numberSetting({
    flag: "kubernetesApiQPS",
    default: 80,
    help: "maximum rate of requests to the API server, per second",
  }),
  kubernetesApiBurst: integerSetting({
    flag: "kubernetesApiBurst",
    default: 160,
    help: "maximum burst of requests to the API server",
  }),
  clusterRegistriesNamespace: stringSetting({
    flag: "clusterRegistriesNamespace",
    placeholder: "namespace",
    default: "",
    help: "namespace of the Secrets of remote clusters; empty for --namespace",
  }),
  clusterAliases: mapSetting({
    flag: "clusterAliases",
    placeholder: "alias=id",
    default: {},
    help: "aliases by which proxies and callers may name a cluster, at most one for each",
  }),
  cniNamespace: stringSetting({
    flag: "cniNamespace",
    placeholder: "namespace",
    default: "",
    help: "namespace of the CNI plugin, whose nodes PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS untaints; empty for --namespace",
  }),
} as const;
