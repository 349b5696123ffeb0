import type { Service, ServicePort } from "@istiod/service-discovery";

/** A cluster whose endpoints are requested. */
export interface EndpointTarget {
  readonly service: Service;
  readonly port: ServicePort;
  /** Empty: all endpoints of the service. */
  readonly subset: string;
  /**
   * True if the cluster is one of an AUTO_PASSTHROUGH gateway, which forwards opaque TLS and therefore uses only
   * endpoints with mutual TLS.
   */
  readonly sniDnat: boolean;
}

/** Reports whether Envoy, rather than istiod, resolves the addresses of a service's endpoints. */
export function isResolvedByProxy({ resolution }: Service): boolean {
  return resolution === "DNSLB" || resolution === "DNSRoundRobinLB";
}
