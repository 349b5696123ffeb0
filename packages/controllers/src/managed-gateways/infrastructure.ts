import type { ManagedClass } from "./managed-classes.js";
import type { ObservedGateway } from "./observed-gateway.js";

type StringMap = Readonly<Record<string, string>>;

/** Labels and annotations of the objects of a Gateway. */
export interface Infrastructure {
  readonly labels: StringMap;
  readonly annotations: StringMap;
}

export interface InfrastructureOptions {
  /** Without `spec.infrastructure`, those of the Gateway (`PILOT_ENABLE_GATEWAY_API_COPY_LABELS_ANNOTATIONS`). */
  readonly copiesMetadata: boolean;
  /** Ambient mode redirects traffic of Pods, unless a label opts out (`PILOT_ENABLE_AMBIENT_WAYPOINTS`). */
  readonly isAmbient: boolean;
  /** The network of the cluster; empty if there is none. */
  readonly network: string;
}

const dataplaneMode = "istio.io/dataplane-mode";
const networkLabel = "topology.istio.io/network";
const reservedPrefix = "gateway.networking.k8s.io/";

/** Returns the labels and annotations that the objects of a Gateway get in addition to those of templates. */
export function infrastructureOf(gateway: ObservedGateway, options: InfrastructureOptions): Infrastructure {
  const { infrastructure, gatewayClassName = "" } = gateway.spec;
  const copied = options.copiesMetadata ? gateway : { labels: {}, annotations: {} };
  const labels: Record<string, string> = { ...(withoutReserved(infrastructure?.labels) ?? copied.labels) };
  const annotations = { ...(withoutReserved(infrastructure?.annotations) ?? copied.annotations) };
  const isWaypoint = gatewayClassName.includes("waypoint");
  const isEastWest = gatewayClassName.includes("east-west");
  const hasMode = dataplaneMode in gateway.labels || dataplaneMode in labels;
  if (options.isAmbient && !isWaypoint && !isEastWest && !hasMode) labels[dataplaneMode] = "none";
  const hasNetwork = networkLabel in gateway.labels;
  if (options.network !== "" && (isWaypoint || isEastWest) && !hasNetwork) labels[networkLabel] = options.network;
  return { labels, annotations };
}

/** Returns a map without the keys that the Gateway API has reserved, which could conflict with those of templates. */
function withoutReserved(map: StringMap | undefined): StringMap | undefined {
  return map && Object.fromEntries(Object.entries(map).filter(([key]) => !key.startsWith(reservedPrefix)));
}

/** Returns the name of an annotation's value, or a default if it is absent or empty. */
export function annotationOr(annotations: StringMap, name: string, otherwise: string): string {
  return annotations[name] || otherwise;
}

/** Returns the name of the objects of a Gateway, unless an annotation overrides it. */
export function defaultName(name: string, { spec }: ObservedGateway, { hasClassSuffix }: ManagedClass): string {
  return hasClassSuffix ? `${name}-${spec.gatewayClassName ?? ""}` : name;
}
