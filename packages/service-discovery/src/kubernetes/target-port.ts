import type { ContainerPort, ServicePortSpec } from "@istiod/config-schema";

/** Returns the target port of a Service port on a pod; undefined if the pod has no port with that name and protocol. */
export function targetPortOnPod(port: ServicePortSpec, podPorts: readonly ContainerPort[]): number | undefined {
  if (typeof port.targetPort !== "string") return port.targetPort ?? port.port;
  return podPorts.find(({ name, protocol }) => name === port.targetPort && protocol === port.protocol)?.containerPort;
}

/**
 * Returns the target port of a Service port on a WorkloadEntry: its port with the target port's name (or, for a numeric
 * target port, with the Service port's name), else the numeric target port; undefined if a named port is missing.
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
