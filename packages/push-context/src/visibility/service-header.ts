import { query, type QueryContext } from "@istiod/incremental";
import { type Registry, type Service, service, serviceOrder } from "@istiod/service-discovery";
import { mesh } from "../mesh/mesh-config.js";
import { exportScope, type ExportScope } from "./export-to.js";

/** What decides which clients see a service, apart from what it offers: a change of ports or addresses does not change it. */
export interface ServiceHeader {
  readonly id: string;
  readonly hostname: string;
  readonly namespace: string;
  readonly registry: Registry;
  readonly creationTimestamp: number;
  readonly exportedTo: ExportScope;
}

/** The header of the service with this id. */
export const serviceHeader = query("serviceHeader", (q, id: string): ServiceHeader | undefined => {
  const found = q.call(service, id);
  return found && {
    id,
    hostname: found.hostname,
    namespace: found.namespace,
    registry: found.registry,
    creationTimestamp: found.creationTimestamp,
    exportedTo: serviceExportScope(q, found),
  };
});

/**
 * The services that clients of a namespace may see: those exported to it alone, then public ones, each group the oldest first.
 * Without a namespace: the public ones.
 */
export const visibleServices = query("visibleServices", (q, namespace: string | undefined): readonly ServiceHeader[] => {
  const headers = q.call(serviceOrder).flatMap((id) => q.call(serviceHeader, id) ?? []);
  const exported = headers.filter(({ exportedTo }) => !exportedTo.everyone && namespace !== undefined && exportedTo.namespaces.includes(namespace));
  return [...exported, ...headers.filter(({ exportedTo }) => exportedTo.everyone)];
});

/**
 * Whom a service is exported to: its own `exportTo` or the mesh's default, and no further than MeshConfig.serviceEntryVisibility
 * allows where that applies to sidecars (pilot/pkg/model/push_context.go, serviceExportTo).
 */
function serviceExportScope(q: QueryContext, { exportTo, namespace, visibility }: Service): ExportScope {
  const declared = exportScope(exportTo.length > 0 ? exportTo : mesh(q).defaultServiceExportTo, namespace);
  if (visibility === "public" || mesh(q).serviceEntryVisibility?.applyToSidecars !== true) {
    return declared;
  }
  const reachesOwn = declared.everyone || declared.namespaces.includes(namespace);
  return { everyone: false, namespaces: visibility === "namespace" && reachesOwn ? [namespace] : [] };
}
