import type { Service, ServicePort } from "@istiod/service-discovery";

/** A cluster whose endpoints are asked for. */
export interface EndpointTarget {
  readonly service: Service;
  readonly port: ServicePort;
  /** Empty: all endpoints of the service. */
  readonly subset: string;
  /** A cluster of an AUTO_PASSTHROUGH gateway, which cannot tell what passes and so sends to endpoints with mutual TLS only. */
  readonly sniDnat: boolean;
}

/** Whether a proxy, and not istiod, resolves the addresses of a service's endpoints. */
export function isResolvedByProxy({ resolution }: Service): boolean {
  return resolution === "DNSLB" || resolution === "DNSRoundRobinLB";
}
