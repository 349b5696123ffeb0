import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

/** Content of a Namespace, of which only the metadata is read. */
export type NamespaceSpec = Readonly<Record<string, never>>;
export type NamespaceObject = ConfigObject<NamespaceSpec>;

/** Annotations with the ranges of users and groups that OpenShift gives a namespace, for injected proxies. */
const openShiftRanges = new Set(["openshift.io/sa.scc.uid-range", "openshift.io/sa.scc.supplemental-groups"]);

/** Namespaces by `cluster/name`. */
export const namespaces = collection<NamespaceObject>("Namespace");

export const namespaceKind = declareKind<NamespaceSpec, undefined>({
  kind: "Namespace",
  group: "",
  versions: ["v1"],
  scope: "cluster",
  nameRule: "label",
  collection: namespaces,
  labels: "all",
  annotations: (key) => isIstioKey(key) || openShiftRanges.has(key),
  fields: {},
  key: clusterKey,
  decode: () => ({ spec: {} }),
});

/** Namespaces of Kubernetes and its nodes, in which nothing is injected, and which analysis ignores. */
export const systemNamespaces: ReadonlySet<string> = new Set([
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "local-path-storage",
]);
