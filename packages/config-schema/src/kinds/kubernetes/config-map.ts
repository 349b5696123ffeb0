import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

export interface ConfigMapSpec {
  /**
   * Entries that Istio reads: certificates, mesh configuration, injection configuration, and defaults of managed
   * gateways.
   */
  readonly data: Readonly<Record<string, string>>;
}
export type ConfigMapObject = ConfigObject<ConfigMapSpec>;

const entriesRead = new Set([
  "ca.crt",
  "cacert",
  "ca.crl",
  "crl",
  "root-cert.pem",
  "mesh",
  "meshNetworks",
  "config",
  "values",
  "deployment",
  "service",
  "serviceAccount",
  "horizontalPodAutoscaler",
  "podDisruptionBudget",
]);

/**
 * ConfigMaps that are leader locks of Istio, of which istiod has some (`locks` of `@istiod/controllers`), with nothing
 * to read. Their holders write each of them every few seconds, which every istiod would receive. Source:
 * pilot/pkg/leaderelection/leaderelection.go.
 */
export const lockConfigMaps: readonly string[] = [
  "istio-leader",
  "istio-namespace-controller-election",
  "istio-clustertrustbundle-controller-election",
  "istio-serviceexport-controller-election",
  "istio-status-leader",
  "istio-analyze-leader",
  "istio-gateway-status-leader",
  "istio-node-untaint",
  "istio-ip-autoallocate",
];

/** ConfigMaps by `cluster/ns/name`, without leader locks. */
export const configMaps = collection<ConfigMapObject>("ConfigMap", { filter: discoveryNamespacesFilter });

export const configMapKind = declareKind<ConfigMapSpec, undefined>({
  kind: "ConfigMap",
  group: "",
  versions: ["v1"],
  scope: "namespaced",
  collection: configMaps,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: { data: Object.fromEntries([...entriesRead].map((name) => [name, true])) },
  key: clusterKey,
  fieldSelector: lockConfigMaps.map((name) => `metadata.name!=${name}`).join(","),
  decode(manifest, report) {
    const entries = Object.entries(Fields.of(manifest.body, report).stringMap("data"));
    return { spec: { data: Object.fromEntries(entries.filter(([name]) => entriesRead.has(name))) } };
  },
});
