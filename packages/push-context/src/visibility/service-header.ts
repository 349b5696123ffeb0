import { query, type QueryContext } from "@istiod/incremental";
import { type Registry, type Service, service, serviceOrder } from "@istiod/service-discovery";
import { mesh } from "../mesh/mesh-config.js";
import { failureMessage } from "./failure-message.js";
import { exportScope, type ExportScope, isExportedTo } from "./export-to.js";

/** Fields of a service that determine its visibility. A change of ports or addresses does not change them. */
export interface ServiceHeader {
  readonly id: string;
  readonly hostname: string;
  readonly namespace: string;
  /** Name of the Kubernetes Service; the hostname of a ServiceEntry. */
  readonly name: string;
  readonly registry: Registry;
  readonly creationTimestamp: number;
  readonly exportedTo: ExportScope;
}

/** The header of the service with this ID. */
export const serviceHeader = query("serviceHeader", (q, id: string): ServiceHeader | undefined => {
  const found = q.call(service, id);
  return (
    found && {
      id,
      hostname: found.hostname,
      namespace: found.namespace,
      name: found.name,
      registry: found.registry,
      creationTimestamp: found.creationTimestamp,
      exportedTo: serviceExportScope(q, found),
    }
  );
});

/**
 * The services that are visible to a namespace: those exported to named namespaces first, then public ones, each group
 * ordered by age. Without a namespace, only public ones.
 */
export const visibleServices = query("visibleServices", (q, namespace: string | undefined): readonly ServiceHeader[] =>
  visibleAmong(q.call(serviceHeaders).headers, namespace),
);

/** A service that cannot be read, because of a fault in istiod or an object with content that validation missed. */
export interface FailedService {
  readonly id: string;
  readonly message: string;
}

/**
 * The services that cannot be read. They are in no scope, so that they fail alone; what is generated for them is
 * reported as failed.
 */
export const failedServices = query("failedServices", (q): readonly FailedService[] => q.call(serviceHeaders).failed);

interface ServiceHeaders {
  readonly headers: readonly ServiceHeader[];
  readonly failed: readonly FailedService[];
}

/** The headers of all services in order. */
export const serviceHeaders = query("serviceHeaders", (q): ServiceHeaders => {
  const headers: ServiceHeader[] = [];
  const failed: FailedService[] = [];
  for (const id of q.call(serviceOrder)) {
    try {
      const header = q.call(serviceHeader, id);
      if (header !== undefined) headers.push(header);
    } catch (error) {
      failed.push({ id, message: failureMessage(error) });
    }
  }
  return { headers, failed };
});

/** Returns the visible services of these owner namespaces; services of others are not read. */
export function visibleServicesOf(
  q: QueryContext,
  owners: readonly string[],
  namespace: string | undefined,
): readonly ServiceHeader[] {
  return visibleAmong(owners.flatMap((owner) => q.call(headersOfNamespace, owner)).sort(byAge), namespace);
}

/** Orders by age, name and namespace. */
export function byAge(a: ServiceHeader, b: ServiceHeader): number {
  return a.creationTimestamp - b.creationTimestamp || compare(a.name, b.name) || compare(a.namespace, b.namespace);
}

const headersByNamespace = query(
  "serviceHeadersByNamespace",
  (q): Readonly<Record<string, readonly ServiceHeader[]>> => {
    const out: Record<string, ServiceHeader[]> = {};
    for (const header of q.call(serviceHeaders).headers) {
      (out[header.namespace] ??= []).push(header);
    }
    return out;
  },
);

const headersOfNamespace = query(
  "serviceHeadersOfNamespace",
  (q, namespace: string): readonly ServiceHeader[] => q.call(headersByNamespace)[namespace] ?? [],
);

function visibleAmong(headers: readonly ServiceHeader[], namespace: string | undefined): readonly ServiceHeader[] {
  const exported = headers.filter(({ exportedTo }) => !exportedTo.everyone && isExportedTo(exportedTo, namespace));
  return [...exported, ...headers.filter(({ exportedTo }) => exportedTo.everyone)];
}

/**
 * Returns the visibility of a service: its own `exportTo` or the mesh's default, limited by
 * MeshConfig.serviceEntryVisibility if that applies to sidecars (pilot/pkg/model/push_context.go, serviceExportTo).
 */
export function serviceExportScope(q: QueryContext, { exportTo, namespace, visibility }: Service): ExportScope {
  const declared = exportScope(exportTo.length > 0 ? exportTo : mesh(q).defaultServiceExportTo, namespace);
  if (visibility === "public" || mesh(q).serviceEntryVisibility?.applyToSidecars !== true) {
    return declared;
  }
  const includesOwnNamespace = declared.everyone || declared.namespaces.includes(namespace);
  return { everyone: false, namespaces: visibility === "namespace" && includesOwnNamespace ? [namespace] : [] };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
