import { maxPeerBytes, peerMetadata } from "./peer.js";

/** A label, with the format string by which Envoy computes its value. */
export interface RecordedLabel {
  readonly name: string;
  readonly format: string;
}

/** The side of a request on which a proxy is: that of the client, or that of the server. */
export type Reporter = "source" | "destination";

/**
 * Labels that are not Istio's. {@link standardLabels} replaces them by those that follow from them, because most of
 * Istio's labels are CEL expressions in Envoy, and cost fifty times as much a request.
 */
export const recorded = {
  /** The services of the cluster, as JSON: `[{"host":"…","name":"…","namespace":"…"}]`. */
  services: "istio_services",
  /** The peer as it has introduced itself. */
  peer: "istio_peer",
  /** The peer as istiod knows it: the workload of the endpoint that the client has chosen. */
  endpoint: "istio_endpoint",
  /** URI SANs of the certificates of either side, separated by commas. */
  sourcePrincipal: "istio_source_principal",
  destinationPrincipal: "istio_destination_principal",
  /** The gRPC status as a number. Requests have it, connections do not; it is empty if the request is not gRPC. */
  grpcStatus: "istio_grpc_status",
  /** The requested host, for destinations that istiod does not know. */
  host: "istio_host",
  /** Labels that Telemetry removes, separated by commas. */
  removed: "istio_removed",
} as const;

/** Longest requested host in a label in bytes: as long as DNS has it, with a port. */
const MAX_HOST_BYTES = 260;

/** Format strings of the SPIFFE IDs of both sides of a connection. */
export interface PrincipalFormats {
  readonly local: string;
  readonly peer: string;
}

/**
 * Returns the labels that Envoy records of a TCP connection.
 *
 * @param principals default: those of the certificates of the connection
 */
export function connectionLabels(
  reporter: Reporter,
  principals: PrincipalFormats = certificatePrincipals(reporter),
): readonly RecordedLabel[] {
  const [local, peer] =
    reporter === "source"
      ? [recorded.sourcePrincipal, recorded.destinationPrincipal]
      : [recorded.destinationPrincipal, recorded.sourcePrincipal];
  return [
    { name: "reporter", format: reporter },
    { name: "response_flags", format: "%RESPONSE_FLAGS%" },
    { name: recorded.services, format: "%CLUSTER_METADATA(istio:services)%" },
    { name: local, format: principals.local },
    { name: peer, format: principals.peer },
    ...(reporter === "source" ? [{ name: recorded.endpoint, format: "%UPSTREAM_METADATA(istio:workload)%" }] : []),
  ];
}

function certificatePrincipals(reporter: Reporter): PrincipalFormats {
  const side = reporter === "source" ? "UPSTREAM" : "DOWNSTREAM";
  return { local: `%${side}_LOCAL_URI_SAN%`, peer: `%${side}_PEER_URI_SAN%` };
}

/**
 * Returns the labels that Envoy records of a request.
 *
 * @param usesHost true if the requested host stands for a destination that istiod does not know
 * @param principals default: those of the certificates of the connection
 */
export function requestLabels(
  reporter: Reporter,
  usesHost: boolean,
  principals?: PrincipalFormats,
): readonly RecordedLabel[] {
  const { namespace, key } = peerMetadata;
  return [
    ...connectionLabels(reporter, principals),
    { name: "response_code", format: "%RESPONSE_CODE%" },
    { name: recorded.grpcStatus, format: "%GRPC_STATUS_NUMBER%" },
    { name: recorded.peer, format: `%DYNAMIC_METADATA(${namespace}:${key}):${maxPeerBytes}%` },
    ...(usesHost ? [{ name: recorded.host, format: `%REQ(:AUTHORITY):${MAX_HOST_BYTES}%` }] : []),
  ];
}
