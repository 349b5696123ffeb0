import { collection, index } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIpAddress } from "../../validation/network/ip.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind, type Kind } from "../kind.js";

/** Default API group of multi-cluster services (`MCS_API_GROUP`). */
export const multiClusterGroup = "multicluster.x-k8s.io";

/**
 * Content of a ServiceExport. Its existence is all that is read: its cluster offers the Service of its name to the
 * others.
 */
export type ServiceExportSpec = Readonly<Record<string, never>>;
export type ServiceExportObject = ConfigObject<ServiceExportSpec>;

/** Content of a ServiceImport: a service that some cluster exports. */
export interface ServiceImportSpec {
  /** IP addresses of the service's clusterset name in this cluster, sorted. */
  readonly ips: readonly string[];
}
export type ServiceImportObject = ConfigObject<ServiceImportSpec>;

/** ServiceExports by `cluster/ns/name`. */
export const serviceExports = collection<ServiceExportObject>("ServiceExport", { filter: discoveryNamespacesFilter });

/** ServiceImports by `cluster/ns/name`. */
export const serviceImports = collection<ServiceImportObject>("ServiceImport", { filter: discoveryNamespacesFilter });

/** ServiceImports of all clusters by `ns/name`. */
export const serviceImportsByName = index(serviceImports, "byName", ({ namespace, name }) => [`${namespace}/${name}`]);

/**
 * Returns the kinds of multi-cluster services for an API server that serves them under another group or version. Their
 * objects are in the same collections.
 */
export function multiClusterKinds(group = multiClusterGroup, version = ""): readonly Kind[] {
  const common = {
    group,
    versions: [...new Set(["v1alpha1", "v1beta1", ...(version === "" ? [] : [version])])],
    scope: "namespaced",
    labels: isIstioKey,
    annotations: isIstioKey,
    key: clusterKey,
  } as const;
  return [
    declareKind<ServiceExportSpec, undefined>({
      ...common,
      kind: "ServiceExport",
      collection: serviceExports,
      fields: {},
      decode: () => ({ spec: {} }),
    }),
    declareKind<ServiceImportSpec, undefined>({
      ...common,
      kind: "ServiceImport",
      collection: serviceImports,
      fields: { spec: { ips: true } },
      decode: (manifest, report) => {
        const stated = Fields.of(manifest.body, report).object("spec").strings("ips");
        stated.forEach((ip, i) => {
          if (!isIpAddress(ip))
            report.warning(["spec", "ips", i], `is ${JSON.stringify(ip)}, expected an IP address; it is left out`);
        });
        return { spec: { ips: stated.filter(isIpAddress).sort() } };
      },
    }),
  ];
}
