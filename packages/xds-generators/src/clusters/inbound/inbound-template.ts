import { create, toBinary } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_OriginalDstLbConfigSchema,
  ClusterSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { BindConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/address";
import { query, type QueryContext } from "@istiod/incremental";
import { features, ipMode } from "@istiod/push-context";
import type { Protocol } from "@istiod/service-discovery";
import { compileTemplate, placeholder, type Template } from "../../encoding/template.js";
import { address } from "../../envoy/address.js";
import { inboundBindIpv4, inboundBindIpv6, sourceAddress } from "../builtin-clusters.js";
import { finishCluster, newClusterDraft } from "../cluster-draft.js";
import { addMetadata, addServicesMetadata } from "../cluster-metadata.js";
import { decodePolicy } from "../traffic-policy/policy-encoding.js";
import { applyInboundPolicy } from "../traffic-policy/traffic-policy.js";
import { applyDeclaredProtocol } from "../traffic-policy/upstream-protocol.js";

/** Everything that determines an inbound cluster except names. */
interface InboundClusterShape {
  readonly protocol: Protocol;
  /** The result of `encodePolicy`. */
  readonly encodedPolicy: string;
  /** The destination: an address, a path (`unix://…`), or empty for the original destination. */
  readonly bind: string;
  /** The destination port. Undefined, for an original destination: the original port. */
  readonly targetPort: number | undefined;
  /** The number of services whose names are labels of metrics. */
  readonly serviceCount: number;
  /** True if a DestinationRule applies. */
  readonly hasDestinationRule: boolean;
}

/** Names of placeholders. */
export const inboundPlaceholder = {
  name: "name",
  statName: "statName",
  rule: "rule",
  host: (position: number): string => `host ${position}`,
  service: (position: number): string => `service ${position}`,
  namespace: (position: number): string => `namespace ${position}`,
};

/** The longest interval that Envoy supports: connections to the workload are never cleaned up. */
const maxCleanupSeconds = 9_223_372_035n;

/** The template of all inbound clusters with the same shape. */
export const inboundTemplate = query("inboundTemplate", (q, shape: InboundClusterShape): Template => {
  const { bind, targetPort, serviceCount } = shape;
  const draft = newClusterDraft({
    name: placeholder(inboundPlaceholder.name),
    altStatName: placeholder(inboundPlaceholder.statName),
    commonLbConfig: {},
  });
  const { cluster } = draft;
  if (bind === "") useOriginalDestination(cluster, targetPort);
  else useStaticAddress(cluster, bind, targetPort ?? 0);
  applyDeclaredProtocol(q, draft, shape.protocol);
  if (serviceCount > 0)
    addServicesMetadata(
      q,
      cluster,
      Array.from({ length: serviceCount }, (_, i) => placeholderNames(i)),
    );
  if (shape.hasDestinationRule && cluster.metadata !== undefined)
    addMetadata(cluster, { config: placeholder(inboundPlaceholder.rule) });
  applyInboundPolicy(q, draft, decodePolicy(shape.encodedPolicy));
  if (bind !== "127.0.0.1" && bind !== "::1") bindSourceAddress(q, cluster);
  return compileTemplate(toBinary(ClusterSchema, finishCluster(draft)));
});

function placeholderNames(position: number): {
  readonly hostname: string;
  readonly name: string;
  readonly namespace: string;
} {
  const { host, service, namespace } = inboundPlaceholder;
  return {
    hostname: placeholder(host(position)),
    name: placeholder(service(position)),
    namespace: placeholder(namespace(position)),
  };
}

function useOriginalDestination(cluster: Cluster, override: number | undefined): void {
  cluster.clusterDiscoveryType = { case: "type", value: Cluster_DiscoveryType.ORIGINAL_DST };
  cluster.cleanupInterval = { $typeName: "google.protobuf.Duration", seconds: maxCleanupSeconds, nanos: 0 };
  if (override !== undefined) {
    cluster.lbConfig = {
      case: "originalDstLbConfig",
      value: create(Cluster_OriginalDstLbConfigSchema, { upstreamPortOverride: override }),
    };
  }
}

function useStaticAddress(cluster: Cluster, bind: string, port: number): void {
  cluster.clusterDiscoveryType = { case: "type", value: Cluster_DiscoveryType.STATIC };
  const target = create(ClusterSchema, {
    loadAssignment: {
      clusterName: cluster.name,
      endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: { address: address(bind, port) } } }] }],
    },
  });
  if (target.loadAssignment !== undefined) cluster.loadAssignment = target.loadAssignment;
}

/** Connects from addresses that redirection excludes. */
function bindSourceAddress(q: QueryContext, cluster: Cluster): void {
  const mode = q.ask(ipMode);
  cluster.upstreamBindConfig = create(BindConfigSchema, {
    sourceAddress: sourceAddress(mode === "IPv6" ? inboundBindIpv6 : inboundBindIpv4),
    ...(mode === "Dual" &&
      features.dualStack(q) && { extraSourceAddresses: [{ address: sourceAddress(inboundBindIpv6) }] }),
  });
}
