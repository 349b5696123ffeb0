/** A workload as a proxy introduces itself, or as istiod describes an endpoint. Absent values are empty. */
export interface PeerWorkload {
  readonly workload: string;
  readonly namespace: string;
  readonly canonicalService: string;
  readonly canonicalRevision: string;
  readonly cluster: string;
  readonly app: string;
  readonly version: string;
}

/** The header by which proxies without Istio's metadata exchange tell their peers about their workload. */
export const peerHeader = "x-istio-peer-workload";

/** The variable of Envoy's environment with the header's value. The agent sets it. */
export const peerVariable = "ISTIO_PEER_WORKLOAD";

/** The entry of Envoy's dynamic metadata that keeps the header of the peer. */
export const peerMetadata = { namespace: "istio.peer", key: "workload" } as const;

/** Longest value of the header in bytes that labels use. */
export const maxPeerBytes = 1024;

const SEPARATOR = ";";

/**
 * Formats a workload as the value of {@link peerHeader}: its name, namespace, canonical service and revision, cluster,
 * app and version, separated by semicolons. The first five are also the format of an endpoint's metadata.
 */
export function formatPeer(peer: PeerWorkload): string {
  const { workload, namespace, canonicalService, canonicalRevision, cluster, app, version } = peer;
  return [workload, namespace, canonicalService, canonicalRevision, cluster, app, version]
    .map((value) => value.replaceAll(/[^\x20-\x3a\x3c-\x7e]/g, "_"))
    .join(SEPARATOR);
}

/** Parses a workload in the form of {@link formatPeer}; `undefined` if it has fewer than five parts. */
export function parsePeer(text: string): PeerWorkload | undefined {
  const parts = text.split(SEPARATOR);
  if (parts.length < 5) return undefined;
  const [workload = "", namespace = "", canonicalService = "", canonicalRevision = "", cluster = ""] = parts;
  return {
    workload,
    namespace,
    canonicalService,
    canonicalRevision,
    cluster,
    app: parts[5] ?? "",
    version: parts[6] ?? "",
  };
}
