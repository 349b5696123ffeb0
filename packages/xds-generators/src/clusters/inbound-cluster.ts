import { create, toBinary } from "@bufbuild/protobuf";
import { type Cluster, Cluster_DiscoveryType, Cluster_OriginalDstLbConfigSchema, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { BindConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/address";
import { query, type QueryContext } from "@istiod/incremental";
import type { ConnectionPoolSettings, TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { TrafficPolicySchema } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  type ConsolidatedRule,
  features,
  inboundDestinationRuleFor,
  ipMode,
  mesh,
  overlayPolicy,
  policyOfPort,
  scopeOf,
  serviceInScope,
  sidecarSpec,
  withMeshDefaults,
} from "@istiod/push-context";
import { resource, type Resource } from "@istiod/resources";
import { keyOfId, service, type Service, type ServicePort, splitKey } from "@istiod/service-discovery";
import { address } from "../envoy/address.js";
import { delimitedStatPrefix, inboundClusterName } from "../resource-names.js";
import { clusterDefaults } from "./cluster-defaults.js";
import { clusterDraft, finished } from "./cluster-draft.js";
import { addMetadata, addServicesMetadata, configPath } from "./cluster-metadata.js";
import { loopFreeIpv4, loopFreeIpv6, socket } from "./fixed-clusters.js";
import { statNameOf } from "./stat-pattern.js";
import { applyInboundPolicy } from "./traffic-policy.js";
import { applyDeclaredProtocol } from "./upstream-protocol.js";

/** What is served at a port of the workload. The first service stands for all in policies. */
export interface InboundClusterRef {
  /** The port that the cluster is named for: the workload's, or that of a Sidecar's ingress listener. */
  readonly port: number;
  /** Where connections go: an address, a path (`unix://…`), or empty for where they were meant to. */
  readonly bind: string;
  /** The port that is connected to; 0 for a path. */
  readonly targetPort: number;
  readonly servicePort: ServicePort;
  /** Ids of the services with this port; none: the port stands for itself, under `fallbackHost`. */
  readonly services: readonly string[];
  readonly fallbackHost: string;
}

/** As long as Envoy can count: connections to the workload are never given up for being unused. */
const never = 9_223_372_035n;

/** The cluster by which the proxy reaches its own workload. Source: pilot/pkg/networking/core/cluster_builder.go, buildInboundCluster. */
export const inboundCluster = query("inboundCluster", (q, ref: InboundClusterRef): Resource => {
  const cluster = buildInboundCluster(q, ref);
  return resource(cluster.name, toBinary(ClusterSchema, cluster));
});

function buildInboundCluster(q: QueryContext, { port, bind, targetPort, servicePort, services, fallbackHost }: InboundClusterRef): Cluster {
  const name = inboundClusterName(port);
  const found = services.flatMap((id) => q.call(service, id) ?? []);
  const [primary] = found;
  const draft = clusterDraft({ name, commonLbConfig: {} });
  const { cluster } = draft;
  if (bind === "") toOriginalDestination(cluster, primary, servicePort);
  else toAddress(cluster, bind, targetPort);
  applyDeclaredProtocol(q, draft, servicePort.protocol);
  if (primary !== undefined && !primary.meshExternal) addServicesMetadata(q, cluster, found);
  const pattern = mesh(q).inboundClusterStatName;
  if (pattern !== "") {
    const named = primary ?? { hostname: fallbackHost, name: fallbackHost, namespace: "", registry: "External" as const };
    cluster.altStatName = delimitedStatPrefix(statNameOf(pattern, { service: named, port: servicePort, targetPort: port }));
  }
  const rule = ruleFor(q, primary?.hostname ?? fallbackHost);
  if (rule?.spec.trafficPolicy !== undefined && cluster.metadata !== undefined) addMetadata(cluster, { config: configPath(rule) });
  applyInboundPolicy(q, draft, inboundPolicy(q, rule, servicePort.number, port));
  if (bind !== "127.0.0.1" && bind !== "::1") sendLoopFree(q, cluster);
  return finished(draft);
}

function toOriginalDestination(cluster: Cluster, primary: Service | undefined, port: ServicePort): void {
  cluster.clusterDiscoveryType = { case: "type", value: Cluster_DiscoveryType.ORIGINAL_DST };
  cluster.cleanupInterval = { $typeName: "google.protobuf.Duration", seconds: never, nanos: 0 };
  const override = primary?.passthroughTargetPorts[port.number];
  if (override !== undefined) {
    cluster.lbConfig = { case: "originalDstLbConfig", value: create(Cluster_OriginalDstLbConfigSchema, { upstreamPortOverride: override }) };
  }
}

function toAddress(cluster: Cluster, bind: string, port: number): void {
  cluster.clusterDiscoveryType = { case: "type", value: Cluster_DiscoveryType.STATIC };
  const target = create(ClusterSchema, {
    loadAssignment: {
      clusterName: cluster.name,
      endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: { address: address(bind, port) } } }] }],
    },
  });
  if (target.loadAssignment !== undefined) cluster.loadAssignment = target.loadAssignment;
}

/** The rule for the host, if the client's own scope imports it. */
function ruleFor(q: QueryContext, host: string): ConsolidatedRule | undefined {
  const scoped = q.call(serviceInScope, { scope: scopeOf(q), hostname: host });
  if (scoped === undefined) return undefined;
  const [serviceNamespace] = splitKey(keyOfId(scoped.service));
  return q.call(inboundDestinationRuleFor, { host, serviceNamespace });
}

/** The policy of the rule, with the mesh's defaults below, and the Sidecar's connection pool above. */
function inboundPolicy(q: QueryContext, rule: ConsolidatedRule | undefined, servicePort: number, port: number): TrafficPolicy | undefined {
  const policy = withMeshDefaults(q.call(clusterDefaults).policy, policyOfPort(rule?.spec.trafficPolicy, servicePort));
  const connectionPool = sidecarConnectionPool(q, port);
  if (connectionPool === undefined) return policy;
  const own = create(TrafficPolicySchema, { connectionPool });
  return policy === undefined ? own : overlayPolicy(policy, own);
}

function sidecarConnectionPool(q: QueryContext, port: number): ConnectionPoolSettings | undefined {
  const sidecar = q.call(sidecarSpec, scopeOf(q));
  const ofPort = sidecar?.ingress.find((listener) => listener.port?.number === port && listener.connectionPool !== undefined);
  return ofPort?.connectionPool ?? sidecar?.inboundConnectionPool;
}

/** Connections from addresses that the workload's redirection leaves alone. */
function sendLoopFree(q: QueryContext, cluster: Cluster): void {
  const mode = q.ask(ipMode);
  cluster.upstreamBindConfig = create(BindConfigSchema, {
    sourceAddress: socket(mode === "IPv6" ? loopFreeIpv6 : loopFreeIpv4),
    ...(mode === "Dual" && features.dualStack(q) && { extraSourceAddresses: [{ address: socket(loopFreeIpv6) }] }),
  });
}
