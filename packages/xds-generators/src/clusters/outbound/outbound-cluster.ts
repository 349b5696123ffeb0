import { Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { query, type QueryContext } from "@istiod/incremental";
import type { Subset, TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  type ConsolidatedRule,
  destinationRuleFor,
  policyOfPort,
  policyOfSubset,
  scopedService,
  type ScopedService,
  serviceMutualTlsMode,
  subsetNamed,
  withMeshDefaults,
} from "@istiod/push-context";
import { resource, type Resource } from "@istiod/resources";
import {
  everyEndpointAcceptsTunnels,
  portNumbered,
  type Service,
  serviceIdentities,
  type ServicePort,
} from "@istiod/service-discovery";
import { encodedAssignment } from "../../endpoints/index.js";
import { encodedField, joinEncoded } from "../../encoding/encode.js";
import { filled } from "../../encoding/template.js";
import { delimitedStatPrefix, outboundClusterName, sniDnatClusterName } from "../../resource-names.js";
import { clusterDefaults } from "../cluster-defaults.js";
import { configPath } from "../cluster-metadata.js";
import { discoveryTypeOf, discoveryTypeOfSubset, passesThrough, typeUnderPolicy } from "../discovery-type.js";
import { inlineEndpointsOf } from "./inline-endpoints.js";
import { isResolved, type OutboundBlanks, type OutboundForm, outboundTemplate } from "./outbound-template.js";
import { textOfPolicy } from "../traffic-policy/policy-encoding.js";
import { statNameOf } from "../stat-name.js";

/** One port of a service, or of a subset of it, as a client's scope imports it. */
export interface OutboundClusterRef {
  readonly service: ScopedService;
  /** The port's number. */
  readonly port: number;
  /** Empty: the service itself. */
  readonly subset: string;
  /** A cluster of AUTO_PASSTHROUGH gateways, which pass the client's TLS on as it is. */
  readonly sniDnat: boolean;
}

/**
 * The cluster by which the client reaches a port of a service. Undefined where the service has no such port or subset, or the proxy
 * would have to resolve names and there are none.
 */
export const outboundCluster = query("outboundCluster", (q, ref: OutboundClusterRef): Resource | undefined => {
  const service = q.call(scopedService, ref.service);
  const port = service && portNumbered(service, ref.port);
  if (service === undefined || port === undefined) return undefined;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  const subset = subsetNamed(rule?.spec, ref.subset);
  if (ref.subset !== "" && subset === undefined) return undefined;
  const target: Target = { ref, service, port, rule, subset };
  const ofService = discoveryTypeOf(q, service);
  if (subset !== undefined && isResolved(ofService) && q.call(outboundCluster, { ...ref, subset: "" }) === undefined)
    return undefined;
  return encodedCluster(q, target, ofService);
});

/** A destination with what is declared for it. */
interface Target {
  readonly ref: OutboundClusterRef;
  readonly service: Service;
  readonly port: ServicePort;
  readonly rule: ConsolidatedRule | undefined;
  readonly subset: Subset | undefined;
}

function encodedCluster(q: QueryContext, target: Target, ofService: Cluster_DiscoveryType): Resource | undefined {
  const { ref, service, port, rule, subset } = target;
  const destinationPolicy = withMeshDefaults(
    q.call(clusterDefaults).policy,
    policyOfPort(rule?.spec.trafficPolicy, port.number),
  );
  const policy =
    subset === undefined ? destinationPolicy : policyOfSubset(destinationPolicy, subset.trafficPolicy, port.number);
  const type =
    subset === undefined
      ? ofService
      : discoveryTypeOfSubset(typeUnderPolicy(q, ofService, destinationPolicy, port.protocol), subset);
  const endpoints = isResolved(type)
    ? inlineEndpointsOf(q, { service, port, subset: ref.subset, sniDnat: ref.sniDnat }, policy)
    : [];
  if (isResolved(type) && endpoints.length === 0) return undefined;
  const identities = ref.sniDnat ? [] : q.call(serviceIdentities, service.key);
  const { cluster, hasEndpoints } = q.call(outboundTemplate, formOf(q, target, type, policy, identities));
  const blanks = blanksOf(q, target, identities);
  const bytes = filled(cluster, { ...blanks });
  return resource(
    blanks.name,
    hasEndpoints
      ? joinEncoded([bytes, encodedField(loadAssignment, [encodedAssignment(blanks.name, endpoints)])])
      : bytes,
  );
}

function formOf(
  q: QueryContext,
  target: Target,
  type: Cluster_DiscoveryType,
  policy: TrafficPolicy | undefined,
  identities: readonly string[],
): OutboundForm {
  const { ref, service, port, rule, subset } = target;
  const passthrough = passesThrough(subset === undefined ? rule?.spec.trafficPolicy : subset.trafficPolicy);
  return {
    type,
    protocol: port.protocol,
    policy: textOfPolicy(policy),
    trafficDistribution: service.trafficDistribution,
    meshExternal: service.meshExternal,
    tunnelled: isTunnelled(q, target),
    raceFirstTcpConnect: isResolved(type) && service.raceFirstTcpConnect,
    passthroughPort:
      type === Cluster_DiscoveryType.ORIGINAL_DST ? service.passthroughTargetPorts[port.number] : undefined,
    keepsDraining: subset === undefined && !ref.sniDnat && supportsDraining(q, service),
    byRule: rule !== undefined,
    ofSubset: subset !== undefined,
    ...(!ref.sniDnat && {
      tls: {
        serviceMode: serviceMutualTlsMode(q, service, port, passthrough),
        identities: identities.length === 0 ? "none" : service.registry === "External" ? "external" : "own",
        selectsWorkloads: rule?.spec.workloadSelector !== undefined,
      },
    }),
  };
}

function blanksOf(
  q: QueryContext,
  { ref, service, port, rule, subset }: Target,
  identities: readonly string[],
): OutboundBlanks {
  const sni = sniDnatClusterName(service.hostname, port.number, ref.subset);
  const name = ref.sniDnat ? sni : outboundClusterName(service.hostname, port.number, ref.subset);
  const pattern = q.call(clusterDefaults).outboundStatName;
  return {
    name,
    statName: delimitedStatPrefix(pattern === "" ? name : statNameOf(pattern, { service, port, subset: ref.subset })),
    host: service.hostname,
    service: service.name,
    namespace: service.namespace,
    rule: rule === undefined ? "" : configPath(rule),
    subset: subset?.name ?? "",
    sni,
    identities,
  };
}

/** Whether a service's own cluster leads to endpoints that are all reached through tunnels. */
function isTunnelled(q: QueryContext, { ref, service, port, subset }: Target): boolean {
  return (
    q.call(clusterDefaults).tunnels &&
    subset === undefined &&
    !ref.sniDnat &&
    q.call(everyEndpointAcceptsTunnels, { service: service.key, port: { name: port.name, number: port.number } })
  );
}

function supportsDraining(q: QueryContext, { labels }: Service): boolean {
  return q.call(clusterDefaults).sessionLabels.some((name) => (labels[name] ?? "") !== "");
}

/** The field in which endpoints are that are not sent apart. */
const loadAssignment = ClusterSchema.field.loadAssignment.number;
