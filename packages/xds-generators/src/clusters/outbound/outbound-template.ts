import { create, toBinary } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_EdsClusterConfigSchema,
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
import { decodePolicy } from "../traffic-policy/policy-encoding.js";
import {
  applyOutboundPolicy,
  commonLbConfigOf,
  hasDiscoveryType,
  type PolicyTarget,
} from "../traffic-policy/traffic-policy.js";
import { applyDeclaredProtocol } from "../traffic-policy/upstream-protocol.js";

/** All that shapes an outbound cluster and that many have in common: clusters of one form differ in names only. */
export interface OutboundClusterShape {
  /** How endpoints are found, as far as no load balancer chooses that. */
  readonly discoveryType: Cluster_DiscoveryType;
  readonly protocol: Protocol;
  /** Of `textOfPolicy`. */
  readonly encodedPolicy: string;
  /** The settings of a service that are of consequence. */
  readonly trafficDistribution: Service["trafficDistribution"];
  readonly meshExternal: boolean;
  /** Whether the cluster stands for a service whose endpoints are all reached through tunnels, which carry what proxies tell each other of themselves. */
  readonly hboneOnly: boolean;
  readonly raceFirstTcpConnect: boolean;
  /** The port to which connections that pass through are sent; absent: the one that they were meant for. */
  readonly passthroughPort: number | undefined;
  /** Whether sessions keep to endpoints that drain. */
  readonly keepsDrainingHosts: boolean;
  /** Whether a rule shapes the cluster, and whether it stands for a subset. */
  readonly hasDestinationRule: boolean;
  readonly isSubset: boolean;
  /** Absent for clusters that pass TLS on unseen. */
  readonly tls?: {
    readonly serviceMode: MutualTlsMode;
    /** Whether there are identities to check certificates by, and whether they are declared for a service outside of the registries. */
    readonly identities: "none" | "own" | "external";
    readonly selectsWorkloads: boolean;
  };
}

/** What is filled into a cluster of a form. */
export interface OutboundPlaceholders {
  readonly name: string;
  readonly statName: string;
  /** The service's names, for the labels of metrics. */
  readonly host: string;
  readonly service: string;
  readonly namespace: string;
  /** The rule's path. */
  readonly rule: string;
  readonly subset: string;
  readonly sni: string;
  readonly identities: readonly string[];
}

interface OutboundTemplate {
  readonly template: Template;
  /** Whether the endpoints' names are in the cluster. */
  readonly hasInlineEndpoints: boolean;
}

/** The cluster of a form, with blanks. */
export const outboundTemplate = query("outboundTemplate", (q, form: OutboundClusterShape): OutboundTemplate => {
  const draft = newDraft(q, form);
  const { cluster } = draft;
  const policy = decodePolicy(form.encodedPolicy);
  if (form.keepsDrainingHosts) keepDrainingHosts(cluster);
  const { protocol, trafficDistribution, tls } = form;
  applyOutboundPolicy(q, draft, policy, { protocol, trafficDistribution, ...(tls && { tls: tlsTarget(form, tls) }) });
  addDiscoveryParts(q, cluster);
  if (form.hboneOnly) addMetadata(cluster, { disable_mx: true });
  else if (form.meshExternal && !form.isSubset) addMetadata(cluster, { external: true });
  if (form.hasDestinationRule) addDestinationRuleMetadata(cluster, placeholder("rule"), policy?.tls);
  if (form.isSubset) addMetadata(cluster, { subset: placeholder("subset") });
  const resolves = isDns(form.discoveryType) && !hasDiscoveryType(cluster, Cluster_DiscoveryType.ORIGINAL_DST);
  return { template: compileTemplate(toBinary(ClusterSchema, finishCluster(draft))), hasInlineEndpoints: resolves };
});

/** Whether the proxy resolves the names of endpoints. */
export function isDns(type: Cluster_DiscoveryType): boolean {
  return type === Cluster_DiscoveryType.STRICT_DNS || type === Cluster_DiscoveryType.LOGICAL_DNS;
}

/** A cluster with what does not depend on a policy. */
function newDraft(q: QueryContext, form: OutboundClusterShape): ClusterDraft {
  const { discoveryType, passthroughPort } = form;
  const draft = newClusterDraft({
    name: placeholder("name"),
    altStatName: placeholder("statName"),
    clusterDiscoveryType: { case: "type", value: discoveryType },
    commonLbConfig: {},
    ...(isDns(discoveryType) && dnsSettings(q, form.raceFirstTcpConnect)),
  });
  const { cluster } = draft;
  if (passthroughPort !== undefined) {
    cluster.lbConfig = {
      case: "originalDstLbConfig",
      value: create(Cluster_OriginalDstLbConfigSchema, { upstreamPortOverride: passthroughPort }),
    };
  }
  applyDeclaredProtocol(q, draft, form.protocol);
  addServicesMetadata(q, cluster, [
    { hostname: placeholder("host"), name: placeholder("service"), namespace: placeholder("namespace") },
  ]);
  return draft;
}

function tlsTarget(
  { meshExternal }: OutboundClusterShape,
  { serviceMode, identities, selectsWorkloads }: NonNullable<OutboundClusterShape["tls"]>,
): NonNullable<PolicyTarget["tls"]> {
  const names = [repeatedPlaceholder("identities")];
  return {
    identities: identities === "none" ? [] : names,
    externalIdentities: identities === "external" ? names : [],
    sni: placeholder("sni"),
    meshExternal,
    serviceMode,
    selectsWorkloads,
  };
}

/** What every cluster has once its policy decided how its endpoints are found. */
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

/** Keeps endpoints that drain, for the sessions that are bound to them. */
function keepDrainingHosts(cluster: Cluster): void {
  commonLbConfigOf(cluster).overrideHostStatus = create(HealthStatusSetSchema, {
    statuses: [HealthStatus.HEALTHY, HealthStatus.DRAINING, HealthStatus.UNKNOWN, HealthStatus.DEGRADED],
  });
}
