import { type SettingValues, stringArraySetting, stringSetting } from "@istiod/settings";

/** The flags that define the objects of a mesh. All sub-commands that read a mesh have them. */
export const meshFlags = {
  configDir: stringSetting({
    flag: "configDir",
    placeholder: "dir",
    default: "",
    help: "directory of YAML files with all objects of the mesh, watched",
  }),
  clusterDir: stringArraySetting({
    flag: "clusterDir",
    placeholder: "id=dir",
    default: [],
    help: "directory of the Kubernetes objects of another cluster of the mesh, watched; repeatable",
    isExtension: true,
  }),
  meshConfig: stringSetting({
    flag: "meshConfig",
    placeholder: "file",
    default: "./etc/istio/config/mesh",
    help: "mesh configuration; the defaults if the file does not exist",
  }),
  networksConfig: stringSetting({
    flag: "networksConfig",
    placeholder: "file",
    default: "./etc/istio/config/meshNetworks",
    help: "mesh networks; none if the file does not exist",
  }),
  clusterID: stringSetting({
    flag: "clusterID",
    variable: "CLUSTER_ID",
    placeholder: "id",
    default: "Kubernetes",
    help: "ID of the cluster that istiod runs in",
  }),
  domain: stringSetting({
    flag: "domain",
    placeholder: "domain",
    default: "cluster.local",
    help: "DNS domain suffix of the cluster",
  }),
  namespace: stringSetting({
    flag: "namespace",
    short: "n",
    variable: "POD_NAMESPACE",
    placeholder: "namespace",
    default: "istio-system",
    help: "namespace that istiod runs in",
  }),
} as const;

/** Values of the flags that define the objects of a mesh. */
export type MeshFlags = SettingValues<typeof meshFlags>;
