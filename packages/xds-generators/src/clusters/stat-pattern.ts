import type { Service, ServicePort } from "@istiod/service-discovery";

export interface StatNameParts {
  readonly service: Pick<Service, "hostname" | "name" | "namespace" | "registry">;
  readonly port: ServicePort;
  readonly subset?: string;
  /** The workload's port; absent: the pattern's place for it is kept as it is, as in Istio's listeners. */
  readonly targetPort?: number;
}

/**
 * The name under which a cluster or route counts, by a pattern of MeshConfig (`outboundClusterStatName`, …). `%SERVICE%` is
 * `name.namespace` for Kubernetes, and the host for others.
 */
export function statNameOf(pattern: string, { service, port, subset = "", targetPort }: StatNameParts): string {
  const { hostname, name, namespace, registry } = service;
  const kubernetes = registry === "Kubernetes";
  const filled = targetPort === undefined ? pattern : pattern.replaceAll("%TARGET_PORT%", () => String(targetPort));
  return filled
    .replaceAll("%SERVICE%", () => (kubernetes ? `${name}.${namespace}` : hostname))
    .replaceAll("%SERVICE_NAME%", () => (kubernetes ? name : hostname))
    .replaceAll("%SERVICE_FQDN%", () => hostname)
    .replaceAll("%SUBSET_NAME%", () => subset)
    .replaceAll("%SERVICE_PORT%", () => String(port.number))
    .replaceAll("%SERVICE_PORT_NAME%", () => port.name);
}
