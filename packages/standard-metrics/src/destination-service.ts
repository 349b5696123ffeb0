import { type Labels, UNKNOWN } from "./labels.js";
import { recorded } from "./recorded-labels.js";

/** Values of `destination_service`, `destination_service_name` and `destination_service_namespace`. */
export interface DestinationService {
  readonly host: string;
  readonly name: string;
  /** Empty if istiod does not know the service. */
  readonly namespace: string;
}

/**
 * Returns the service that a request was sent to: that of the cluster, else the requested host, else the fallback.
 * A service without a host stands for a cluster of destinations that istiod does not know, such as PassthroughCluster.
 */
export function destinationService(series: Labels, fallback: string): DestinationService {
  const requested = series.get(recorded.host) ?? "";
  const host = requested === "" || requested === "-" ? fallback : requested;
  const service = firstService(series.get(recorded.services) ?? "");
  return {
    host: service?.host || host,
    name: service === undefined ? host : service.name || (service.host.split(".")[0] ?? UNKNOWN),
    namespace: service?.namespace ?? "",
  };
}

function firstService(text: string): DestinationService | undefined {
  if (!text.startsWith("[")) return undefined;
  try {
    const [first] = JSON.parse(text) as Readonly<Partial<Record<keyof DestinationService, unknown>>>[];
    if (typeof first !== "object") return undefined;
    const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
    return { host: textOf(first.host), name: textOf(first.name), namespace: textOf(first.namespace) };
  } catch {
    return undefined;
  }
}
