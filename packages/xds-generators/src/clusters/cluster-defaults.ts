import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { type Filter, FilterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/filter";
import { query, type QueryContext } from "@istiod/incremental";
import type { MeshConfig_DefaultTrafficPolicy } from "@istiod/istio-api/mesh/v1alpha1/config";
import type {
  ConnectionPoolSettings_TCPSettings_TcpKeepalive,
  LocalityLoadBalancerSetting,
  ZoneAwareLoadBalancerSetting,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { askMetadata, features, mesh } from "@istiod/push-context";
import { hasTunnels } from "@istiod/service-discovery";
import { typedStruct } from "../envoy/typed-struct.js";
import { exchangesBaggage } from "../hbone.js";
import { hasIstioExtension, httpAnnouncement } from "../istio-extensions.js";

/** Certificate files that a proxy brings for the client side of mutual TLS. */
export interface ClientCertificateFiles {
  readonly clientCertificate: string;
  readonly privateKey: string;
  readonly caCertificates: string;
}

/**
 * Settings of the mesh, the environment and the proxy that all clusters depend on. Reading them once gives each cluster
 * a single dependency.
 */
interface ClusterDefaults {
  readonly connectTimeout: Duration | undefined;
  readonly tcpKeepalive: ConnectionPoolSettings_TCPSettings_TcpKeepalive | undefined;
  readonly trackRemaining: boolean;
  readonly trafficPolicy: MeshConfig_DefaultTrafficPolicy | undefined;
  readonly outboundStatNamePattern: string;
  /** Labels of services with persistent sessions. */
  readonly persistentSessionLabels: readonly string[];
  readonly telemetryLabel: boolean;
  /**
   * The services whose unhealthy endpoints are sent too: all, all except where `minHealthPercent` is set, or only those
   * that require it.
   */
  readonly unhealthyEndpoints: "always" | "usually" | "ifNeeded";
  readonly localityWeightedLb: boolean;
  readonly localityLbSetting: LocalityLoadBalancerSetting | undefined;
  readonly zoneAwareLbSetting: ZoneAwareLoadBalancerSetting | undefined;
  readonly autoMutualTls: boolean;
  readonly clientCertificates: ClientCertificateFiles | undefined;
  /** The TCP metadata exchange filter; undefined if the proxy lacks the extension. */
  readonly metadataExchange: Filter | undefined;
  /** True if metadata exchange is offered to peers by ALPN. */
  readonly offersMetadataExchangeAlpn: boolean;
  /** True if the client announces HTTP to mesh peers by its filter state. */
  readonly announcesByFilterState: boolean;
  /** True if any workload of the mesh accepts HBONE tunnels. */
  readonly meshHasTunnels: boolean;
  /** True if tunnels carry peer metadata in the baggage header. */
  readonly exchangesBaggage: boolean;
}

export const clusterDefaults = query("clusterDefaults", (q): ClusterDefaults => {
  const settings = mesh(q);
  const metadataExchange = metadataExchangeFilter(q);
  return {
    connectTimeout: settings.connectTimeout,
    tcpKeepalive: settings.tcpKeepalive,
    trackRemaining: !features.disableTrackRemaining(q),
    trafficPolicy: settings.defaultTrafficPolicy,
    outboundStatNamePattern: settings.outboundClusterStatName,
    persistentSessionLabels: [features.persistentSessionLabel(q), features.persistentSessionHeaderLabel(q)].filter(
      (name) => name !== "",
    ),
    telemetryLabel: features.telemetryLabel(q),
    unhealthyEndpoints: features.sendUnhealthyEndpoints(q)
      ? "always"
      : features.autoSendUnhealthyEndpoints(q)
        ? "usually"
        : "ifNeeded",
    localityWeightedLb: features.localityWeightedLb(q),
    localityLbSetting: settings.localityLbSetting,
    zoneAwareLbSetting: settings.zoneAwareLbSetting,
    autoMutualTls: settings.enableAutoMtls === true,
    clientCertificates: clientCertificateFiles(q),
    metadataExchange,
    offersMetadataExchangeAlpn: metadataExchange !== undefined && !features.disableMxAlpn(q),
    announcesByFilterState: httpAnnouncement(q) === "filter-state",
    meshHasTunnels: q.call(hasTunnels),
    exchangesBaggage: exchangesBaggage(q),
  };
});

function metadataExchangeFilter(q: QueryContext): Filter | undefined {
  if (!features.metadataExchange(q) || !hasIstioExtension(q, "metadataExchange")) return undefined;
  const labels = features.metadataExchangeAdditionalLabels(q);
  const value = {
    protocol: "istio-peer-exchange",
    enable_discovery: true,
    ...(labels.length > 0 && { additional_labels: [...labels] }),
  };
  const typedConfig = typedStruct("type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange", value);
  return create(FilterSchema, { name: "istio.metadata_exchange", typedConfig });
}

function clientCertificateFiles(q: QueryContext): ClientCertificateFiles | undefined {
  const clientCertificate = askMetadata(q, "TLS_CLIENT_CERT_CHAIN") ?? "";
  if (clientCertificate === "") return undefined;
  return {
    clientCertificate,
    privateKey: askMetadata(q, "TLS_CLIENT_KEY") ?? "",
    caCertificates: askMetadata(q, "TLS_CLIENT_ROOT_CERT") ?? "",
  };
}
