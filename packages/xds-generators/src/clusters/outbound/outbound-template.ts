import { create, toBinary } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_EdsClusterConfigSchema,
  Cluster_LbPolicy,
  Cluster_OriginalDstLbConfigSchema,
  ClusterSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ApiVersion } from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import { HealthStatus, HealthStatusSetSchema } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import { query, type QueryContext } from "@istiod/incremental";
import type { MutualTlsMode } from "@istiod/push-context";
import type { Protocol, Service } from "@istiod/service-discovery";
import { compileTemplate, placeholder, repeatedPlaceholder, type Template } from "../../encoding/template.js";
import { type ClusterDraft, finishCluster, newClusterDraft } from "../cluster-draft.js";
import {
  addBaggageDiscovery,
  addDestinationRuleMetadata,
  addMetadata,
  addMetadataExchange,
  addServicesMetadata,
} from "../cluster-metadata.js";
import { dnsSettings } from "../dns-lookup.js";
import { pickedEndpointPolicy } from "../../extensions/endpoint-picker.js";
import { decodePolicy } from "../traffic-policy/policy-encoding.js";
import {
  applyOutboundPolicy,
  commonLbConfigOf,
  hasDiscoveryType,
  type PolicyTarget,
} from "../traffic-policy/traffic-policy.js";
import { applyDeclaredProtocol } from "../traffic-policy/upstream-protocol.js";

/** Everything that determines an outbound cluster except names. Clusters with the same shape share a template. */
export interface OutboundClusterShape {
  /** The discovery type before the load balancer is applied. */
  readonly discoveryType: Cluster_DiscoveryType;
  readonly protocol: Protocol;
  /** The result of `encodePolicy`. */
  readonly encodedPolicy: string;
  /** The settings of the service that affect the cluster. */
  readonly trafficDistribution: Service["trafficDistribution"];
  readonly meshExternal: boolean;
  /** True if all endpoints of the service are reached through HBONE, whose tunnels carry peer metadata. */
  readonly hboneOnly: boolean;
  readonly raceFirstTcpConnect: boolean;
  /** The destination port of an ORIGINAL_DST cluster; undefined: the original port. */
  readonly passthroughPort: number | undefined;
  /** True if persistent sessions may continue on draining endpoints. */
  readonly keepsDrainingHosts: boolean;
  /** True for a gateway's cluster of an InferencePool, whose endpoints are picked for each request. */
  readonly hasPickedEndpoints: boolean;
  /** True if a DestinationRule applies. */
  readonly hasDestinationRule: boolean;
  /** True if the cluster is one of a subset. */
  readonly isSubset: boolean;
  /** Absent for clusters that forward TLS without terminating it. */
  readonly tls?: {
    readonly serviceMode: MutualTlsMode;
    /** Identities to verify certificates against: none, those of the service accounts, or those of a ServiceEntry. */
    readonly identities: "none" | "own" | "external";
    readonly selectsWorkloads: boolean;
    /** The credential that the client presents to backends of policies of the Gateway API; absent if it has none. */
    readonly clientCertificate?: string;
  };
}

/** The values of the placeholders in an outbound cluster. */
export interface OutboundPlaceholders {
  readonly name: string;
  readonly statName: string;
  /** The service's names, which are labels of metrics. */
  readonly host: string;
  readonly service: string;
  readonly namespace: string;
  /** The path of the DestinationRule. */
  readonly rule: string;
  readonly subset: string;
  readonly sni: string;
  readonly identities: readonly string[];
}

interface OutboundTemplate {
  readonly template: Template;
  /** True if the endpoints are part of the cluster. */
  readonly hasInlineEndpoints: boolean;
}

/** The template of all outbound clusters with the same shape. */
export const outboundTemplate = query("outboundTemplate", (q, shape: OutboundClusterShape): OutboundTemplate => {
  const draft = newDraft(q, shape);
  const { cluster } = draft;
  const policy = decodePolicy(shape.encodedPolicy);
  if (shape.keepsDrainingHosts) keepDrainingHosts(cluster);
  const { protocol, trafficDistribution, tls } = shape;
  applyOutboundPolicy(q, draft, policy, { protocol, trafficDistribution, ...(tls && { tls: tlsTarget(shape, tls) }) });
  if (shape.hasPickedEndpoints) usePickedEndpoints(cluster);
  addDiscoveryParts(q, cluster);
  if (shape.hboneOnly) addMetadata(cluster, { disable_mx: true });
  else if (shape.meshExternal && !shape.isSubset) addMetadata(cluster, { external: true });
  if (shape.hasDestinationRule) addDestinationRuleMetadata(cluster, placeholder("rule"), policy?.tls);
  if (shape.isSubset) addMetadata(cluster, { subset: placeholder("subset") });
  const resolves = isDns(shape.discoveryType) && !hasDiscoveryType(cluster, Cluster_DiscoveryType.ORIGINAL_DST);
  return { template: compileTemplate(toBinary(ClusterSchema, finishCluster(draft))), hasInlineEndpoints: resolves };
});

/** Replaces the load balancing of a cluster by the choice of the endpoint picker. */
function usePickedEndpoints(cluster: Cluster): void {
  if (cluster.commonLbConfig?.localityConfigSpecifier.case === "localityWeightedLbConfig")
    cluster.commonLbConfig.localityConfigSpecifier = { case: undefined };
  cluster.lbPolicy = Cluster_LbPolicy.CLUSTER_PROVIDED;
  cluster.loadBalancingPolicy = pickedEndpointPolicy();
}

/** Reports whether the proxy resolves the names of endpoints. */
export function isDns(type: Cluster_DiscoveryType): boolean {
  return type === Cluster_DiscoveryType.STRICT_DNS || type === Cluster_DiscoveryType.LOGICAL_DNS;
}

/** Returns a draft with everything that does not depend on a policy. */
function newDraft(q: QueryContext, shape: OutboundClusterShape): ClusterDraft {
  const { discoveryType, passthroughPort } = shape;
  const draft = newClusterDraft({
    name: placeholder("name"),
    altStatName: placeholder("statName"),
    clusterDiscoveryType: { case: "type", value: discoveryType },
    commonLbConfig: {},
    ...(isDns(discoveryType) && dnsSettings(q, shape.raceFirstTcpConnect)),
  });
  const { cluster } = draft;
  if (passthroughPort !== undefined) {
    cluster.lbConfig = {
      case: "originalDstLbConfig",
      value: create(Cluster_OriginalDstLbConfigSchema, { upstreamPortOverride: passthroughPort }),
    };
  }
  applyDeclaredProtocol(q, draft, shape.protocol);
  addServicesMetadata(q, cluster, [
    { hostname: placeholder("host"), name: placeholder("service"), namespace: placeholder("namespace") },
  ]);
  return draft;
}

function tlsTarget(
  { meshExternal }: OutboundClusterShape,
  { serviceMode, identities, selectsWorkloads, clientCertificate }: NonNullable<OutboundClusterShape["tls"]>,
): NonNullable<PolicyTarget["tls"]> {
  const names = [repeatedPlaceholder("identities")];
  return {
    identities: identities === "none" ? [] : names,
    externalIdentities: identities === "external" ? names : [],
    sni: placeholder("sni"),
    meshExternal,
    serviceMode,
    selectsWorkloads,
    ...(clientCertificate !== undefined && { clientCertificate }),
  };
}

/** Adds what depends on the discovery type, once the policy has decided it. */
function addDiscoveryParts(q: QueryContext, cluster: Cluster): void {
  const eds = hasDiscoveryType(cluster, Cluster_DiscoveryType.EDS);
  if (eds) {
    cluster.edsClusterConfig = create(Cluster_EdsClusterConfigSchema, {
      serviceName: cluster.name,
      edsConfig: {
        configSourceSpecifier: { case: "ads", value: {} },
        initialFetchTimeout: {},
        resourceApiVersion: ApiVersion.V3,
      },
    });
  }
  addMetadataExchange(q, cluster);
  if (eds) addBaggageDiscovery(q, cluster);
}

/** Keeps draining endpoints for the sessions that are bound to them. */
function keepDrainingHosts(cluster: Cluster): void {
  commonLbConfigOf(cluster).overrideHostStatus = create(HealthStatusSetSchema, {
    statuses: [HealthStatus.HEALTHY, HealthStatus.DRAINING, HealthStatus.UNKNOWN, HealthStatus.DEGRADED],
  });
}
