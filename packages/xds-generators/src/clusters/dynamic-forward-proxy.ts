import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type Cluster_DnsLookupFamily, Cluster_LbPolicy } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ClusterConfigSchema } from "@istiod/envoy-api/envoy/extensions/clusters/dynamic_forward_proxy/v3/cluster";
import {
  type DnsCacheConfig,
  DnsCacheConfigSchema,
} from "@istiod/envoy-api/envoy/extensions/common/dynamic_forward_proxy/v3/dns_cache";
import { UpstreamTlsContextSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import { fact, query, type QueryContext } from "@istiod/incremental";
import { ClientTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  askMetadata,
  destinationRuleFor,
  features,
  type IpMode,
  ipMode,
  ipModeOf,
  mesh,
  portPolicy,
  type Proxy,
  type ScopedService,
  scopedService,
  serviceMutualTlsMode,
  withMeshDefaults,
} from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { portNumbered, type Protocol } from "@istiod/service-discovery";
import { configPath } from "../config-metadata.js";
import { tlsTransportSocket, transportSocket } from "../envoy/transport-socket.js";
import { allowAnyDnsCache, allowAnyDynamicDnsCluster, dnsCacheName, outboundClusterName } from "../resource-names.js";
import { clusterDefaults } from "./cluster-defaults.js";
import {
  type ClusterDraft,
  clusterResource,
  finishCluster,
  httpProtocolOptionsKey,
  newClusterDraft,
} from "./cluster-draft.js";
import { addDestinationRuleMetadata, addMetadata, addMetadataExchange } from "./cluster-metadata.js";
import { isPassthrough } from "./discovery-type.js";
import { caresResolver, dnsLookupFamily } from "./dns-lookup.js";
import { applyConnectionPool } from "./traffic-policy/connection-pool.js";
import { applyOutboundPolicy } from "./traffic-policy/traffic-policy.js";
import { applyDeclaredProtocol, passthroughProtocolOptions } from "./traffic-policy/upstream-protocol.js";
import { allowInsecureOptions, upstreamTlsContext } from "./traffic-policy/upstream-tls-context.js";

/** Protocols whose requests or handshakes name the host to resolve. */
export const resolvableProtocols: readonly Protocol[] = ["HTTP", "TLS", "GRPC", "HTTP2"];

/**
 * The cluster of a ServiceEntry with a wildcard host and DYNAMIC_DNS resolution, whose hosts are resolved on demand.
 */
export const dynamicDnsCluster = query(
  "dynamicDnsCluster",
  (q, ref: { readonly service: ScopedService; readonly port: number }): Resource | undefined => {
    const service = q.call(scopedService, ref.service);
    const port = service && portNumbered(service, ref.port);
    if (service === undefined || port === undefined) return undefined;
    const draft = forwardProxyDraft(outboundClusterName(service.hostname, port.number), {
      name: dnsCacheName(service.hostname),
      dnsLookupFamily: dnsLookupFamily(q, q.ask(ipMode)),
    });
    applyDeclaredProtocol(q, draft, port.protocol);
    const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
    const policy = withMeshDefaults(
      q.call(clusterDefaults).trafficPolicy,
      portPolicy(rule?.spec.trafficPolicy, port.number),
    );
    applyOutboundPolicy(q, draft, policy, {
      protocol: port.protocol,
      trafficDistribution: service.trafficDistribution,
      tls: {
        identities: [],
        externalIdentities: [],
        sni: "",
        meshExternal: service.meshExternal,
        serviceMode: serviceMutualTlsMode(q, service, port, isPassthrough(rule?.spec.trafficPolicy)),
        selectsWorkloads: rule?.spec.workloadSelector !== undefined,
      },
    });
    // With HTTP protocol options, Envoy applies the check to plaintext too.
    const { autoSni, autoSanValidation } = draft.http?.upstreamHttpProtocolOptions ?? {};
    if (draft.http !== undefined && !(autoSni === true && autoSanValidation === true)) allowInsecureOptions(draft);
    const { cluster } = draft;
    addMetadataExchange(q, cluster);
    if (service.meshExternal) addMetadata(cluster, { external: true });
    if (rule !== undefined) addDestinationRuleMetadata(cluster, configPath("DestinationRule", rule), policy?.tls);
    return clusterResource(finishCluster(draft));
  },
);

/**
 * The cluster for unknown hosts under ALLOW_ANY_DYNAMIC_DNS, which are resolved on demand. It uses TLS if the mesh's
 * outbound policy does.
 */
export const allowAnyCluster = query("allowAnyDynamicDnsCluster", (q): Resource => {
  const tls = mesh(q).outboundTrafficPolicy?.tls;
  const plaintext = tls === undefined || tls.mode === Mode.DISABLE;
  const draft = forwardProxyDraft(allowAnyDynamicDnsCluster, allowAnyDnsCacheConfig(q), plaintext);
  const { cluster } = draft;
  cluster.typedExtensionProtocolOptions[httpProtocolOptionsKey] = passthroughProtocolOptions(q);
  applyConnectionPool(q, draft);
  if (!plaintext) {
    const context = upstreamTlsContext(q, draft, tls, { externalIdentities: [], selectsWorkloads: false });
    if (context !== undefined)
      cluster.transportSocket = transportSocket(tlsTransportSocket, anyPack(UpstreamTlsContextSchema, context));
  }
  addMetadataExchange(q, cluster);
  return clusterResource(finishCluster(draft));
});

/**
 * Returns the DNS cache that the cluster shares with the filters in front of it. A client with DNS capture resolves
 * through its agent.
 */
export function allowAnyDnsCacheConfig(q: QueryContext): DnsCacheConfig {
  return create(DnsCacheConfigSchema, {
    name: allowAnyDnsCache,
    maxHosts: features.allowAnyDynamicDnsMaxHosts(q),
    dnsLookupFamily: dnsLookupFamily(q, q.ask(instanceIpMode)),
    ...(askMetadata(q, "DNS_CAPTURE") === true && { typedDnsResolverConfig: agentDnsResolver(q) }),
  });
}

/** The address families of the workload's addresses in the node metadata, else of the node ID. */
const instanceIpMode = fact("instanceIpMode", ({ metadata: { INSTANCE_IPS = [] }, ipAddresses }: Proxy) =>
  ipModeOf(INSTANCE_IPS.length > 0 ? INSTANCE_IPS : ipAddresses),
);

/**
 * Returns the resolver that queries the agent's DNS server. If the agent listens on loopback or on all addresses, it is
 * queried on loopback, in the family of the workload.
 */
function agentDnsResolver(q: QueryContext): ReturnType<typeof caresResolver> {
  const [, declared = "", port = "15053"] =
    /^(?:\[?([^\]]*?)\]?):(\d+)$/.exec(askMetadata(q, "DNS_PROXY_ADDR") ?? "") ?? [];
  const isLocal = ["", "localhost", "0.0.0.0", "::"].includes(declared);
  return caresResolver({
    resolvers: [
      {
        address: {
          case: "socketAddress",
          value: {
            address: isLocal ? loopbackOf(declared, q.ask(ipMode)) : declared,
            portSpecifier: { case: "portValue", value: Number(port) },
          },
        },
      },
    ],
  });
}

function loopbackOf(declared: string, mode: IpMode): string {
  return mode === "IPv6" || declared === "::" ? "::1" : "127.0.0.1";
}

function forwardProxyDraft(
  name: string,
  dnsCacheConfig: DnsCacheConfig | { readonly name: string; readonly dnsLookupFamily: Cluster_DnsLookupFamily },
  allowInsecureClusterOptions = false,
): ClusterDraft {
  const config = create(ClusterConfigSchema, {
    clusterImplementationSpecifier: { case: "dnsCacheConfig", value: create(DnsCacheConfigSchema, dnsCacheConfig) },
    allowInsecureClusterOptions,
  });
  return newClusterDraft(
    {
      name,
      lbPolicy: Cluster_LbPolicy.CLUSTER_PROVIDED,
      clusterDiscoveryType: {
        case: "clusterType",
        value: { name: "envoy.clusters.dynamic_forward_proxy", typedConfig: anyPack(ClusterConfigSchema, config) },
      },
    },
    true,
  );
}
