import { destinationService } from "./destination-service.js";
import { type Labels, UNKNOWN } from "./labels.js";
import { parsePeer, type PeerWorkload } from "./peer.js";
import { recorded } from "./recorded-labels.js";

type Pairs = readonly (readonly [name: string, value: string])[];

/**
 * Returns Istio's labels of a series that Envoy has recorded, in Istio's order, and those that Telemetry adds. Source:
 * istio_stats.cc at istio/proxy.
 *
 * @param series the labels of {@link requestLabels} or {@link connectionLabels}, and those that Telemetry sets
 * @param self the workload of the proxy
 */
export function standardLabels(series: Labels, self: PeerWorkload): Labels {
  const isServer = series.get("reporter") === "destination";
  const labels = new Map([
    ["reporter", isServer ? "destination" : "source"],
    ...(isServer ? serverLabels(series, self) : clientLabels(series, self)),
    ...requestLabels(series),
    ["connection_security_policy", isServer ? securityPolicy(series) : UNKNOWN],
  ] as Pairs);
  for (const [name, value] of series) if (!internalNames.has(name)) labels.set(name, value);
  for (const name of (series.get(recorded.removed) ?? "").split(",")) labels.delete(name);
  return labels;
}

const internalNames: ReadonlySet<string> = new Set(Object.values(recorded));

function clientLabels(series: Labels, self: PeerWorkload): Pairs {
  const principal = firstSan(series, recorded.destinationPrincipal);
  const peer = peerOf(series, recorded.peer) ?? peerOf(series, recorded.endpoint);
  const namespace = namespaceOf(principal) || peer?.namespace || UNKNOWN;
  const service = destinationService(series, UNKNOWN);
  return [
    ...ownLabels("source", self, firstSan(series, recorded.sourcePrincipal)),
    ...peerLabels("destination", peer, namespace, principal),
    ["destination_service", service.host],
    ["destination_service_name", service.name],
    ["destination_service_namespace", service.namespace || namespace],
  ];
}

function serverLabels(series: Labels, self: PeerWorkload): Pairs {
  const principal = firstSan(series, recorded.sourcePrincipal);
  const peer = peerOf(series, recorded.peer);
  const service = destinationService(series, self.canonicalService);
  return [
    ...peerLabels("source", peer, namespaceOf(principal) || peer?.namespace || UNKNOWN, principal),
    ...ownLabels("destination", self, firstSan(series, recorded.destinationPrincipal)),
    ["destination_service", service.host],
    ["destination_service_name", service.name],
    ["destination_service_namespace", self.namespace],
  ];
}

/** Labels of the proxy's own workload. Unlike a peer's, what is not known is empty. */
function ownLabels(side: "source" | "destination", self: PeerWorkload, principal: string): Pairs {
  return [
    [`${side}_workload`, self.workload],
    [`${side}_canonical_service`, self.canonicalService],
    [`${side}_canonical_revision`, self.canonicalRevision],
    [`${side}_workload_namespace`, self.namespace],
    [`${side}_principal`, principal || UNKNOWN],
    [`${side}_app`, self.app],
    [`${side}_version`, self.version],
    [`${side}_cluster`, self.cluster],
  ];
}

function peerLabels(
  side: "source" | "destination",
  peer: PeerWorkload | undefined,
  namespace: string,
  principal: string,
): Pairs {
  return [
    [`${side}_workload`, peer?.workload || UNKNOWN],
    [`${side}_canonical_service`, peer?.canonicalService || UNKNOWN],
    [`${side}_canonical_revision`, peer?.canonicalRevision || "latest"],
    [`${side}_workload_namespace`, namespace],
    [`${side}_principal`, principal || UNKNOWN],
    [`${side}_app`, peer?.app || UNKNOWN],
    [`${side}_version`, peer?.version || UNKNOWN],
    [`${side}_cluster`, peer?.cluster || UNKNOWN],
  ];
}

/** Labels of requests, with the response code that Envoy has recorded; of connections, the protocol alone. */
function requestLabels(series: Labels): Pairs {
  const status = series.get(recorded.grpcStatus);
  if (status === undefined) return [["request_protocol", "tcp"]];
  const isGrpc = status !== "" && status !== "-";
  return [
    ["request_protocol", isGrpc ? "grpc" : "http"],
    ["grpc_response_status", isGrpc ? status : ""],
  ];
}

function securityPolicy(series: Labels): string {
  const isMutual =
    firstSan(series, recorded.sourcePrincipal) !== "" && firstSan(series, recorded.destinationPrincipal) !== "";
  return isMutual ? "mutual_tls" : "none";
}

/** Returns the first of several SANs; empty without one. */
function firstSan(series: Labels, name: string): string {
  const [first = ""] = (series.get(name) ?? "").split(",");
  return first === "-" ? "" : first;
}

/** Returns the namespace of `spiffe://DOMAIN/ns/NAMESPACE/sa/ACCOUNT`; empty without one. */
function namespaceOf(principal: string): string {
  return /\/ns\/([^/]*)/.exec(principal)?.[1] ?? "";
}

function peerOf(series: Labels, name: string): PeerWorkload | undefined {
  return parsePeer(series.get(name) ?? "");
}
