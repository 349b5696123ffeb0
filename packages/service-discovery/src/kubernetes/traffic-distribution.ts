import type { TrafficDistribution } from "../model/service.js";

const ANNOTATION = "networking.istio.io/traffic-distribution";

const OF_SPEC: ReadonlyMap<string, TrafficDistribution> = new Map([
  ["PreferClose", "PreferSameZone"],
  ["PreferSameZone", "PreferSameZone"],
  ["PreferSameNode", "PreferSameNode"],
]);

const OF_ANNOTATION: ReadonlyMap<string, TrafficDistribution> = new Map(
  [...OF_SPEC].map(([name, distribution]) => [name.toLowerCase(), distribution]),
);

type Annotations = Readonly<Record<string, string>>;

/**
 * The traffic distribution of a service: its spec's, else its annotation's, else its namespace's. An unknown annotation
 * ends the search.
 */
export function trafficDistributionOf(
  spec: string | undefined,
  annotations: Annotations,
  namespaceAnnotations: Annotations,
): TrafficDistribution {
  const ofSpec = OF_SPEC.get(spec ?? "");
  if (ofSpec !== undefined) return ofSpec;
  const annotated = annotations[ANNOTATION] || namespaceAnnotations[ANNOTATION] || "";
  return OF_ANNOTATION.get(annotated.toLowerCase()) ?? "Any";
}
