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
import { address } from "../../envoy/address.js";
import { blank, type Template, template } from "../../encoding/template.js";
import { clusterDraft, finished } from "../cluster-draft.js";
import { addMetadata, addServicesMetadata } from "../cluster-metadata.js";
import { loopFreeIpv4, loopFreeIpv6, socket } from "../builtin-clusters.js";
import { policyOfText } from "../traffic-policy/policy-encoding.js";
import { applyInboundPolicy } from "../traffic-policy/traffic-policy.js";
import { applyDeclaredProtocol } from "../traffic-policy/upstream-protocol.js";

/** All that shapes an inbound cluster but for names. */
export interface InboundForm {
  readonly protocol: Protocol;
  /** Of `textOfPolicy`. */
  readonly policy: string;
  /** Where connections go: an address, a path (`unix://…`), or empty for where they were meant to. */
  readonly bind: string;
  /** The port that is connected to. Where connections go to where they were meant to, absent: the same port. */
  readonly targetPort: number | undefined;
  /** How many services' names it has for the labels of metrics. */
  readonly services: number;
  /** Whether a rule shapes it. */
  readonly byRule: boolean;
}

/** The names of blanks. */
export const inboundBlank = {
  name: "name",
  statName: "statName",
  rule: "rule",
  host: (position: number): string => `host ${position}`,
  service: (position: number): string => `service ${position}`,
  namespace: (position: number): string => `namespace ${position}`,
};

/** As long as Envoy can count: connections to the workload are never given up for being unused. */
const never = 9_223_372_035n;

/** The cluster of a form, with blanks. */
export const inboundTemplate = query("inboundTemplate", (q, form: InboundForm): Template => {
  const { bind, targetPort, services } = form;
  const draft = clusterDraft({
    name: blank(inboundBlank.name),
    altStatName: blank(inboundBlank.statName),
    commonLbConfig: {},
  });
  const { cluster } = draft;
  if (bind === "") toOriginalDestination(cluster, targetPort);
  else toAddress(cluster, bind, targetPort ?? 0);
  applyDeclaredProtocol(q, draft, form.protocol);
  if (services > 0)
    addServicesMetadata(
      q,
      cluster,
      Array.from({ length: services }, (_, i) => namesOf(i)),
    );
  if (form.byRule && cluster.metadata !== undefined) addMetadata(cluster, { config: blank(inboundBlank.rule) });
  applyInboundPolicy(q, draft, policyOfText(form.policy));
  if (bind !== "127.0.0.1" && bind !== "::1") sendLoopFree(q, cluster);
  return template(toBinary(ClusterSchema, finished(draft)));
});

function namesOf(position: number): { readonly hostname: string; readonly name: string; readonly namespace: string } {
  const { host, service, namespace } = inboundBlank;
  return { hostname: blank(host(position)), name: blank(service(position)), namespace: blank(namespace(position)) };
}

function toOriginalDestination(cluster: Cluster, override: number | undefined): void {
  cluster.clusterDiscoveryType = { case: "type", value: Cluster_DiscoveryType.ORIGINAL_DST };
  cluster.cleanupInterval = { $typeName: "google.protobuf.Duration", seconds: never, nanos: 0 };
  if (override !== undefined) {
    cluster.lbConfig = {
      case: "originalDstLbConfig",
      value: create(Cluster_OriginalDstLbConfigSchema, { upstreamPortOverride: override }),
    };
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

/** Connections from addresses that the workload's redirection leaves alone. */
function sendLoopFree(q: QueryContext, cluster: Cluster): void {
  const mode = q.ask(ipMode);
  cluster.upstreamBindConfig = create(BindConfigSchema, {
    sourceAddress: socket(mode === "IPv6" ? loopFreeIpv6 : loopFreeIpv4),
    ...(mode === "Dual" && features.dualStack(q) && { extraSourceAddresses: [{ address: socket(loopFreeIpv6) }] }),
  });
}
