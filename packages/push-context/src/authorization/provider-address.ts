import { query } from "@istiod/incremental";
import { service, servicesByHostname } from "@istiod/service-discovery";

/** A service as the mesh's configuration names one: `hostname` or `namespace/hostname`. */
export interface ProviderService {
  readonly service: string;
  readonly port: number;
}

/** The service that is meant. */
export interface ProviderAddress {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Where an extension provider is reached; undefined where the service is unknown, or a hostname without a namespace is
 * declared in several. Source: pilot/pkg/model/telemetry_logging.go, LookupCluster.
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
