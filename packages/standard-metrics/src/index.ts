export type { Labels } from "./labels.js";
export { httpMetrics, type StandardMetric, statPrefix, tcpMetrics } from "./metrics.js";
export { StandardMetricsText } from "./metrics-text.js";
export {
  formatPeer,
  maxPeerBytes,
  parsePeer,
  peerHeader,
  peerMetadata,
  peerVariable,
  type PeerWorkload,
} from "./peer.js";
export {
  connectionLabels,
  type PrincipalFormats,
  recorded,
  type RecordedLabel,
  type Reporter,
  requestLabels,
} from "./recorded-labels.js";
export { standardLabels } from "./standard-labels.js";
