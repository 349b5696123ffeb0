import type { Endpoint, Health } from "../model/endpoint.js";
import type { Workload } from "../model/workload.js";

/** The port of a service that an endpoint serves, and the endpoint's address, port and health. */
export interface EndpointAt {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly portName: string;
  /** 0 if the port is found by name. */
  readonly portNumber: number;
  readonly health: Health;
}

/** Returns the endpoint of a workload for one port of a service. */
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
