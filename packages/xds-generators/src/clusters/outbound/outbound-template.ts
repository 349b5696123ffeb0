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
import { blank, blankEach, type Template, template } from "../../encoding/template.js";
import { type ClusterDraft, clusterDraft, finished } from "../cluster-draft.js";
import {
  addBaggageDiscovery,
  addMetadata,
  addMetadataExchange,
  addRuleMetadata,
  addServicesMetadata,
} from "../cluster-metadata.js";
import { dnsSettings } from "../dns-lookup.js";
import { policyOfText } from "../traffic-policy/policy-encoding.js";
import { applyOutboundPolicy, commonLbOf, isDiscoveredBy, type OutboundTarget } from "../traffic-policy/traffic-policy.js";
import { applyDeclaredProtocol } from "../traffic-policy/upstream-protocol.js";

/** All that shapes an outbound cluster and that many have in common: clusters of one form differ in names only. */
export interface OutboundForm {
  /** How endpoints are found, as far as no load balancer chooses that. */
  readonly type: Cluster_DiscoveryType;
  readonly protocol: Protocol;
  /** Of `textOfPolicy`. */
  readonly policy: string;
  /** The settings of a service that are of consequence. */
  readonly trafficDistribution: Service["trafficDistribution"];
  readonly meshExternal: boolean;
  /** Whether the cluster stands for a service whose endpoints are all reached through tunnels, which carry what proxies tell each other of themselves. */
  readonly tunnelled: boolean;
  readonly raceFirstTcpConnect: boolean;
  /** The port to which connections that pass through are sent; absent: the one that they were meant for. */
  readonly passthroughPort: number | undefined;
  /** Whether sessions keep to endpoints that drain. */
  readonly keepsDraining: boolean;
  /** Whether a rule shapes the cluster, and whether it stands for a subset. */
  readonly byRule: boolean;
  readonly ofSubset: boolean;
  /** Absent for clusters that pass TLS on unseen. */
  readonly tls?: {
    readonly serviceMode: MutualTlsMode;
    /** Whether there are identities to check certificates by, and whether they are declared for a service outside of the registries. */
    readonly identities: "none" | "own" | "external";
    readonly selectsWorkloads: boolean;
  };
}

/** What is filled into a cluster of a form. */
export interface OutboundBlanks {
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

export interface OutboundTemplate {
  readonly cluster: Template;
  /** Whether the endpoints' names are in the cluster. */
  readonly hasEndpoints: boolean;
}

/** The cluster of a form, with blanks. */
export const outboundTemplate = query("outboundTemplate", (q, form: OutboundForm): OutboundTemplate => {
  const draft = newCluster(q, form);
  const { cluster } = draft;
  const policy = policyOfText(form.policy);
  if (form.keepsDraining) keepDraining(cluster);
  const { protocol, trafficDistribution, tls } = form;
  applyOutboundPolicy(q, draft, policy, { protocol, trafficDistribution, ...(tls && { tls: tlsOf(form, tls) }) });
  addSharedParts(q, cluster);
  if (form.tunnelled) addMetadata(cluster, { disable_mx: true });
  else if (form.meshExternal && !form.ofSubset) addMetadata(cluster, { external: true });
  if (form.byRule) addRuleMetadata(cluster, blank("rule"), policy?.tls);
  if (form.ofSubset) addMetadata(cluster, { subset: blank("subset") });
  const resolves = isResolved(form.type) && !isDiscoveredBy(cluster, Cluster_DiscoveryType.ORIGINAL_DST);
  return { cluster: template(toBinary(ClusterSchema, finished(draft))), hasEndpoints: resolves };
});

/** Whether the proxy resolves the names of endpoints. */
export function isResolved(type: Cluster_DiscoveryType): boolean {
  return type === Cluster_DiscoveryType.STRICT_DNS || type === Cluster_DiscoveryType.LOGICAL_DNS;
}

/** A cluster with what does not depend on a policy. */
function newCluster(q: QueryContext, form: OutboundForm): ClusterDraft {
  const { type, passthroughPort } = form;
  const draft = clusterDraft({
    name: blank("name"),
    altStatName: blank("statName"),
    clusterDiscoveryType: { case: "type", value: type },
    commonLbConfig: {},
    ...(isResolved(type) && dnsSettings(q, form.raceFirstTcpConnect)),
  });
  const { cluster } = draft;
  if (passthroughPort !== undefined) {
    cluster.lbConfig = {
      case: "originalDstLbConfig",
      value: create(Cluster_OriginalDstLbConfigSchema, { upstreamPortOverride: passthroughPort }),
    };
  }
  applyDeclaredProtocol(q, draft, form.protocol);
  addServicesMetadata(q, cluster, [{ hostname: blank("host"), name: blank("service"), namespace: blank("namespace") }]);
  return draft;
}

function tlsOf(
  { meshExternal }: OutboundForm,
  { serviceMode, identities, selectsWorkloads }: NonNullable<OutboundForm["tls"]>,
): NonNullable<OutboundTarget["tls"]> {
  const names = [blankEach("identities")];
  return {
    identities: identities === "none" ? [] : names,
    externalIdentities: identities === "external" ? names : [],
    sni: blank("sni"),
    meshExternal,
    serviceMode,
    selectsWorkloads,
  };
}

/** What every cluster has once its policy decided how its endpoints are found. */
function addSharedParts(q: QueryContext, cluster: Cluster): void {
  const eds = isDiscoveredBy(cluster, Cluster_DiscoveryType.EDS);
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
function keepDraining(cluster: Cluster): void {
  commonLbOf(cluster).overrideHostStatus = create(HealthStatusSetSchema, {
    statuses: [HealthStatus.HEALTHY, HealthStatus.DRAINING, HealthStatus.UNKNOWN, HealthStatus.DEGRADED],
  });
}
