import { type ContainerPort, type ServicePortSpec, services } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { servicesSelecting } from "@istiod/service-discovery";
import type { PodProfile } from "./pods.js";

/** A port of a Service, and the port of the workload that it leads to. */
export interface ServedPort {
  /** Name of the Service, which is in the namespace of the workload. */
  readonly service: string;
  readonly port: ServicePortSpec;
  /** Undefined if the workload declares no port of the name that the Service has. */
  readonly target: number | undefined;
}

/** Returns the ports of the Services that select a workload. */
export function servedPorts(
  q: QueryContext,
  { cluster, namespace, labels, ports = [] }: PodProfile,
): readonly ServedPort[] {
  return servicesSelecting(q, cluster, namespace, labels).flatMap((service) =>
    (q.read(services, `${cluster}/${namespace}/${service}`)?.spec.ports ?? []).map((port) => ({
      service,
      port,
      target: targetOf(port, ports),
    })),
  );
}

function targetOf({ port, targetPort }: ServicePortSpec, ports: readonly ContainerPort[]): number | undefined {
  if (targetPort === undefined || targetPort === 0) return port;
  const number = Number(targetPort);
  return Number.isNaN(number) ? ports.find(({ name }) => name === targetPort)?.containerPort : number;
}
