import type { Endpoint, Health } from "../model/endpoint.js";
import type { Workload } from "../model/workload.js";

/** What makes a workload an endpoint of one port of a service. */
export interface EndpointAt {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly portName: string;
  /** 0 where the name alone decides. */
  readonly portNumber: number;
  readonly health: Health;
}

/** The endpoint that a workload is for one port of a service. */
export function workloadEndpoint(workload: Workload, at: EndpointAt): Endpoint {
  return {
    addresses: at.addresses,
    port: at.port,
    portName: at.portName,
    portNumber: at.portNumber,
    labels: workload.labels,
    identity: workload.identity,
    network: workload.network,
    locality: workload.locality,
    cluster: workload.cluster,
    weight: workload.weight,
    tlsMode: workload.tlsMode,
    namespace: workload.namespace,
    workloadName: workload.workloadName,
    hostname: workload.hostname,
    subdomain: workload.subdomain,
    nodeName: workload.nodeName,
    health: at.health,
  };
}
