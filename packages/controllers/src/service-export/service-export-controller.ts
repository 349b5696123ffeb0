import { environment } from "@istiod/config-schema";
import { collection, query } from "@istiod/incremental";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import { isClusterLocal } from "@istiod/service-discovery";
import { type Controller, notServed, type Observed, type Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { discovery, type Scope } from "../inputs/discovery.js";

export interface ServiceExportOptions extends Scope {
  /** DNS domain of the cluster. Default: `cluster.local`. */
  readonly domain?: string;
  /** API group of ServiceExport (`MCS_API_GROUP`). Default: `multicluster.x-k8s.io`. */
  readonly group?: string;
  /** API version of ServiceExport (`MCS_API_VERSION`). Default: `v1alpha1`. */
  readonly version?: string;
}

const serviceType: ResourceType = { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true };

/**
 * Returns the controller that exports every Service that is not cluster-local to the other clusters: a ServiceExport
 * with the Service as its owner. Nothing is written while ServiceExports are not served.
 */
export function serviceExportController(options: ServiceExportOptions): Controller {
  const { domain = "cluster.local", group = "multicluster.x-k8s.io", version = "v1alpha1", namespace } = options;
  const type: ResourceType = { group, version, kind: "ServiceExport", plural: "serviceexports", namespaced: true };
  const services = collection<Observed<true>>("Service");
  const exports = collection<Observed<true>>("ServiceExport");
  const discovered = discovery(options);

  const isExported = query("isExported", (q, key: string): boolean => {
    const [in_ = "", name = ""] = key.split("/");
    return q.call(discovered.isActive, in_) && !q.call(isClusterLocal, `${name}.${in_}.svc.${domain}`);
  });
  const targets = query("servicesToExport", (q): readonly string[] =>
    q.read(notServed, `${group}/ServiceExport`) ? [] : [...q.keys(services)].filter((key) => q.call(isExported, key)),
  );
  const write = query("serviceExport", (q, key: string): Write | undefined => {
    const service = q.read(services, key);
    if (service === undefined || q.read(exports, key) !== undefined) return undefined;
    const [in_ = "", name = ""] = key.split("/");
    const owner = { apiVersion: "v1", kind: "Service", name, uid: service.uid };
    const object: KubernetesObject = { metadata: { namespace: in_, name, ownerReferences: [owner] } };
    return { action: "create", type, object, base: undefined };
  });
  const scope = namespace === undefined ? {} : { namespace };
  const exists = (): true => true;
  const watchServices: Watch<true> = { type: serviceType, collection: services, fields: {}, select: exists, ...scope };
  const watchExports: Watch<true> = { type, collection: exports, fields: {}, select: exists, ...scope };
  return {
    name: "auto service export controller",
    fieldManager: "istiod-service-export",
    watches: [discovered.watch, watchServices as Watch, watchExports as Watch],
    inputs: (database) => {
      database.commit((tx) => tx.set(environment, "DOMAIN_SUFFIX", domain));
      return discovered.inputs(database);
    },
    targets,
    write,
  };
}
