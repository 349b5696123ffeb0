import type { TrafficDistribution } from "../model/service.js";

const ANNOTATION = "networking.istio.io/traffic-distribution";

const BY_SPEC: ReadonlyMap<string, TrafficDistribution> = new Map([
  ["PreferClose", "PreferSameZone"],
  ["PreferSameZone", "PreferSameZone"],
  ["PreferSameNode", "PreferSameNode"],
]);

const BY_ANNOTATION: ReadonlyMap<string, TrafficDistribution> = new Map(
  [...BY_SPEC].map(([name, distribution]) => [name.toLowerCase(), distribution]),
);

type Annotations = Readonly<Record<string, string>>;

/**
 * Returns the traffic distribution of a service: from its spec, else its annotation, else its namespace's annotation.
 * An unknown value in the annotation means `Any`.
 */
export function trafficDistributionOf(
  spec: string | undefined,
  annotations: Annotations,
  namespaceAnnotations: Annotations,
): TrafficDistribution {
  const fromSpec = BY_SPEC.get(spec ?? "");
  if (fromSpec !== undefined) return fromSpec;
  const annotated = annotations[ANNOTATION] || namespaceAnnotations[ANNOTATION] || "";
  return BY_ANNOTATION.get(annotated.toLowerCase()) ?? "Any";
}
