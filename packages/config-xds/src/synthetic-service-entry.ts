import { create } from "@bufbuild/protobuf";
import { type ConfigObject, serviceEntryKind } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import {
  type ServiceEntry,
  ServiceEntry_Location as Location,
  ServiceEntry_Resolution as IstioResolution,
  ServiceEntrySchema,
} from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { clientAddresses, cluster } from "@istiod/push-context";
import type { Resolution, Service } from "@istiod/service-discovery";

/** Beginning of the names of synthetic ServiceEntries. */
export const syntheticPrefix = "synthetic-";

/** Annotation of the synthetic ServiceEntries that were received. It is not sent. */
export const syntheticAnnotation = "internal.istio.io/synthetic";

/** As in Istio, an alias (ExternalName) has the enum's default. */
const resolutions: Readonly<Record<Resolution, IstioResolution>> = {
  ClientSideLB: IstioResolution.STATIC,
  DNSLB: IstioResolution.DNS,
  DNSRoundRobinLB: IstioResolution.DNS_ROUND_ROBIN,
  DynamicDNS: IstioResolution.DYNAMIC_DNS,
  Passthrough: IstioResolution.NONE,
  Alias: IstioResolution.NONE,
};

/**
 * Returns the synthetic ServiceEntry of a service, as the client sees it: without endpoints, and with the addresses in
 * its cluster, or in all clusters if it names none. Source: `ServiceToServiceEntry` in
 * pilot/pkg/serviceregistry/serviceentry/conversion.go.
 */
export function syntheticServiceEntry(q: QueryContext, service: Service): ConfigObject<ServiceEntry, unknown> {
  const spec = create(ServiceEntrySchema, {
    hosts: [service.hostname],
    addresses: [...addressesOf(q, service)],
    ports: service.ports.map(({ number, name, protocol }) => ({ number, name, protocol })),
    location: service.meshExternal ? Location.MESH_EXTERNAL : Location.MESH_INTERNAL,
    resolution: resolutions[service.resolution],
    exportTo: [...new Set(service.exportTo)],
    subjectAltNames: [...service.declaredIdentities],
    ...(Object.keys(service.selector ?? {}).length > 0 && { workloadSelector: { labels: { ...service.selector } } }),
  });
  return {
    kind: serviceEntryKind.kind,
    cluster: "",
    namespace: service.namespace,
    name: `${syntheticPrefix}${service.name}`,
    labels: {},
    annotations: {},
    creationTimestamp: service.creationTimestamp,
    spec,
    status: undefined,
  };
}

function addressesOf(q: QueryContext, service: Service): readonly string[] {
  if (q.ask(cluster) !== "") return clientAddresses(q, service);
  const byCluster = Object.entries(service.clusterAddresses).sort(([a], [b]) => (a < b ? -1 : 1));
  return byCluster.flatMap(([, addresses]) => addresses);
}
