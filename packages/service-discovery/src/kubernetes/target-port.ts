import type { ContainerPort, ServicePortSpec } from "@istiod/config-schema";

/**
 * The number of the port that a Service's port leads to on a pod; undefined where the pod has none of that name and
 * transport.
 */
export function targetPortOnPod(port: ServicePortSpec, podPorts: readonly ContainerPort[]): number | undefined {
  if (typeof port.targetPort !== "string") return port.targetPort ?? port.port;
  return podPorts.find(({ name, protocol }) => name === port.targetPort && protocol === port.protocol)?.containerPort;
}

/**
 * The number of the port that a Service's port leads to on a workload outside of Kubernetes: the workload's port with
 * the target port's name (or the Service port's own, where the target is a number); undefined where it is named and the
 * workload has none so named.
 */
export function targetPortOnWorkload(
  port: ServicePortSpec,
  namedPorts: Readonly<Record<string, number>>,
): number | undefined {
  const named = typeof port.targetPort === "string" ? port.targetPort : port.name;
  const found = namedPorts[named] ?? 0;
  if (found !== 0) return found;
  if (typeof port.targetPort === "string") return undefined;
  return port.targetPort ?? port.port;
}
