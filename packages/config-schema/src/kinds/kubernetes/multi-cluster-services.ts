import { collection, index } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIpAddress } from "../../validation/ip.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind, type Kind } from "../kind.js";

/** The API group of multi-cluster services where nothing else is said (`MCS_API_GROUP`). */
export const multiClusterGroup = "multicluster.x-k8s.io";

/** All that is read of a ServiceExport is that it exists: its cluster offers the Service of its name to the others. */
export type ServiceExportSpec = Readonly<Record<string, never>>;
export type ServiceExportObject = ConfigObject<ServiceExportSpec>;

/** What a cluster knows of a service that some cluster exports. */
export interface ServiceImportSpec {
  /**
   * The service's addresses in this cluster, under its name of the whole set of clusters; sorted. Those that are no IP
   * addresses are left out.
   */
  readonly ips: readonly string[];
}
export type ServiceImportObject = ConfigObject<ServiceImportSpec>;

/** Keyed `cluster/ns/name`. */
export const serviceExports = collection<ServiceExportObject>("ServiceExport", { filter: discoveryNamespacesFilter });

/** Keyed `cluster/ns/name`. */
export const serviceImports = collection<ServiceImportObject>("ServiceImport", { filter: discoveryNamespacesFilter });

/** Those of all clusters by `ns/name`. */
export const serviceImportsByName = index(serviceImports, "byName", ({ namespace, name }) => [`${namespace}/${name}`]);

/**
 * The kinds of multi-cluster services as an API server has them that serves them under another group, or another
 * version. Their objects are in the same collections.
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
      decode: () => ({ spec: {} }),
    }),
    declareKind<ServiceImportSpec, undefined>({
      ...common,
      kind: "ServiceImport",
      collection: serviceImports,
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
