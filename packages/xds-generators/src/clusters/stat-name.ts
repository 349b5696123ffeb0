import type { Service, ServicePort } from "@istiod/service-discovery";

interface StatNameParts {
  readonly service: Pick<Service, "hostname" | "name" | "namespace" | "registry">;
  readonly port: ServicePort;
  readonly subset?: string;
  /** The workload's port; 0 if unknown. `unfilled` leaves `%TARGET_PORT%` in place, as Istio's inbound listeners do. */
  readonly targetPort?: number | "unfilled";
}

/**
 * Formats a stat name by a pattern of MeshConfig (`outboundClusterStatName`, …). `%SERVICE%` is `name.namespace` for
 * Kubernetes, and the host for others.
 */
export function formatStatName(pattern: string, { service, port, subset = "", targetPort = 0 }: StatNameParts): string {
  const { hostname, name, namespace, registry } = service;
  const kubernetes = registry === "Kubernetes";
  const filled = targetPort === "unfilled" ? pattern : pattern.replaceAll("%TARGET_PORT%", () => String(targetPort));
  return filled
    .replaceAll("%SERVICE%", () => (kubernetes ? `${name}.${namespace}` : hostname))
    .replaceAll("%SERVICE_NAME%", () => (kubernetes ? name : hostname))
    .replaceAll("%SERVICE_FQDN%", () => hostname)
    .replaceAll("%SUBSET_NAME%", () => subset)
    .replaceAll("%SERVICE_PORT%", () => String(port.number))
    .replaceAll("%SERVICE_PORT_NAME%", () => port.name);
}
