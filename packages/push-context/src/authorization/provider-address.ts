import { query } from "@istiod/incremental";
import { service, servicesByHostname } from "@istiod/service-discovery";

/** A service reference in MeshConfig: `hostname` or `namespace/hostname`. */
export interface ProviderService {
  readonly service: string;
  readonly port: number;
}

/** Address of the referenced service. */
export interface ProviderAddress {
  readonly hostname: string;
  readonly port: number;
}

/**
 * The address of an extension provider's service; undefined if the service is unknown, or if a hostname without a
 * namespace is ambiguous. Source: pilot/pkg/model/telemetry_logging.go, LookupCluster.
 */
export const providerAddress = query(
  "providerAddress",
  (q, { service: name, port }: ProviderService): ProviderAddress | undefined => {
    const parts = name.split("/");
    const [namespace, hostname] = parts;
    if (parts.length === 2 && hostname !== undefined) {
      return q.call(service, `${namespace}/${hostname}`) === undefined ? undefined : { hostname, port };
    }
    return name !== "" && q.call(servicesByHostname, name).length === 1 ? { hostname: name, port } : undefined;
  },
);
