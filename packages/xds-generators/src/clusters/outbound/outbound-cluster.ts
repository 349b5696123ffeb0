import { Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { isDerivedName } from "@istiod/gateway-api";
import { query, type QueryContext } from "@istiod/incremental";
import type { Subset, TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { encodeMessageField, joinEncoded } from "@istiod/protobuf-wire";
import {
  backendClientCertificate,
  type ConsolidatedRule,
  destinationRuleFor,
  portPolicy,
  proxyType,
  subsetPolicy,
  type ScopedService,
  scopedService,
  serviceMutualTlsMode,
  findSubset,
  withMeshDefaults,
} from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import {
  endpointSource,
  everyEndpointAcceptsTunnels,
  isInferencePool,
  portNumbered,
  type Service,
  serviceIdentities,
  type ServicePort,
} from "@istiod/service-discovery";
import { configPath } from "../../config-metadata.js";
import { fillTemplate } from "../../encoding/template.js";
import { encodeLoadAssignment } from "../../endpoints/index.js";
import { delimitedStatPrefix, outboundClusterName, sniDnatClusterName } from "../../resource-names.js";
import { clusterDefaults } from "../cluster-defaults.js";
import { discoveryTypeOf, discoveryTypeOfSubset, discoveryTypeWithPolicy, isPassthrough } from "../discovery-type.js";
import { formatStatName } from "../stat-name.js";
import { encodePolicy } from "../traffic-policy/policy-encoding.js";
import { inlineEndpointsFor } from "./inline-endpoints.js";
import { isDns, type OutboundClusterShape, type OutboundPlaceholders, outboundTemplate } from "./outbound-template.js";

/** A port of a service or of one of its subsets, as imported by a client's scope. */
interface OutboundClusterRef {
  readonly service: ScopedService;
  /** The port number. */
  readonly port: number;
  /** Empty: the service itself. */
  readonly subset: string;
  /**
   * True if the cluster has an SNI-DNAT name, for AUTO_PASSTHROUGH gateways, which forward TLS without terminating it.
   */
  readonly sniDnat: boolean;
}

/**
 * The cluster through which the client reaches a port of a service. Undefined if the service has no such port or
 * subset, or if it is a DNS cluster without endpoints.
 */
export const outboundCluster = query("outboundCluster", (q, ref: OutboundClusterRef): Resource | undefined => {
  const service = q.call(scopedService, ref.service);
  const port = service && portNumbered(service, ref.port);
  if (service === undefined || port === undefined) return undefined;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  const subset = findSubset(rule?.spec, ref.subset);
  if (ref.subset !== "" && subset === undefined) return undefined;
  const target: ClusterTarget = { ref, service, port, rule, subset };
  const ofService = discoveryTypeOf(q, service);
  if (subset !== undefined && isDns(ofService) && q.call(outboundCluster, { ...ref, subset: "" }) === undefined)
    return undefined;
  return buildCluster(q, target, ofService);
});

/** A destination with its configuration. */
interface ClusterTarget {
  readonly ref: OutboundClusterRef;
  readonly service: Service;
  readonly port: ServicePort;
  readonly rule: ConsolidatedRule | undefined;
  readonly subset: Subset | undefined;
}

function buildCluster(q: QueryContext, target: ClusterTarget, ofService: Cluster_DiscoveryType): Resource | undefined {
  const { ref, service, port, rule, subset } = target;
  const destinationPolicy = withMeshDefaults(
    q.call(clusterDefaults).trafficPolicy,
    portPolicy(rule?.spec.trafficPolicy, port.number),
  );
  const policy =
    subset === undefined ? destinationPolicy : subsetPolicy(destinationPolicy, subset.trafficPolicy, port.number);
  const type =
    subset === undefined
      ? ofService
      : discoveryTypeOfSubset(discoveryTypeWithPolicy(q, ofService, destinationPolicy, port.protocol), subset);
  const endpoints = isDns(type)
    ? inlineEndpointsFor(q, { service, port, subset: ref.subset, sniDnat: ref.sniDnat }, policy)
    : [];
  if (isDns(type) && endpoints.length === 0) return undefined;
  const identities = ref.sniDnat ? [] : q.call(serviceIdentities, endpointSource(service));
  const { template, hasInlineEndpoints } = q.call(outboundTemplate, clusterShape(q, target, type, policy, identities));
  const values = placeholderValues(q, target, identities);
  const bytes = fillTemplate(template, { ...values });
  return resource(
    values.name,
    hasInlineEndpoints
      ? joinEncoded([bytes, encodeMessageField(loadAssignment, [encodeLoadAssignment(values.name, endpoints)])])
      : bytes,
  );
}

function clusterShape(
  q: QueryContext,
  target: ClusterTarget,
  discoveryType: Cluster_DiscoveryType,
  policy: TrafficPolicy | undefined,
  identities: readonly string[],
): OutboundClusterShape {
  const { ref, service, port, rule, subset } = target;
  const passthrough = isPassthrough(subset === undefined ? rule?.spec.trafficPolicy : subset.trafficPolicy);
  return {
    discoveryType,
    protocol: port.protocol,
    encodedPolicy: encodePolicy(policy),
    trafficDistribution: service.trafficDistribution,
    meshExternal: service.meshExternal,
    hboneOnly: isHboneOnly(q, target),
    raceFirstTcpConnect: isDns(discoveryType) && service.raceFirstTcpConnect,
    passthroughPort:
      discoveryType === Cluster_DiscoveryType.ORIGINAL_DST ? service.passthroughTargetPorts[port.number] : undefined,
    keepsDrainingHosts: subset === undefined && !ref.sniDnat && hasPersistentSessions(q, service),
    hasPickedEndpoints:
      isInferencePool(service) && subset === undefined && !ref.sniDnat && q.ask(proxyType) === "router",
    hasDestinationRule: rule !== undefined,
    isSubset: subset !== undefined,
    ...(!ref.sniDnat && {
      tls: {
        serviceMode: serviceMutualTlsMode(q, service, port, passthrough),
        identities: identities.length === 0 ? "none" : service.registry === "External" ? "external" : "own",
        selectsWorkloads: rule?.spec.workloadSelector !== undefined,
        ...clientCertificateFor(q, rule),
      },
    }),
  };
}

/** Returns the client certificate for backends of policies of the Gateway API. */
function clientCertificateFor(
  q: QueryContext,
  rule: ConsolidatedRule | undefined,
): { readonly clientCertificate?: string } {
  if (rule === undefined || !rule.from.some(isDerivedName) || q.ask(proxyType) !== "router") return {};
  const clientCertificate = q.call(backendClientCertificate);
  return clientCertificate === undefined ? {} : { clientCertificate };
}

function placeholderValues(
  q: QueryContext,
  { ref, service, port, rule, subset }: ClusterTarget,
  identities: readonly string[],
): OutboundPlaceholders {
  const sni = sniDnatClusterName(service.hostname, port.number, ref.subset);
  const name = ref.sniDnat ? sni : outboundClusterName(service.hostname, port.number, ref.subset);
  const pattern = q.call(clusterDefaults).outboundStatNamePattern;
  return {
    name,
    statName: delimitedStatPrefix(
      pattern === "" ? name : formatStatName(pattern, { service, port, subset: ref.subset }),
    ),
    host: service.hostname,
    service: service.name,
    namespace: service.namespace,
    rule: rule === undefined ? "" : configPath("DestinationRule", rule),
    subset: subset?.name ?? "",
    sni,
    identities,
  };
}

/** Reports whether all endpoints of a service's own cluster are reached through HBONE. */
function isHboneOnly(q: QueryContext, { ref, service, port, subset }: ClusterTarget): boolean {
  return (
    q.call(clusterDefaults).meshHasTunnels &&
    subset === undefined &&
    !ref.sniDnat &&
    q.call(everyEndpointAcceptsTunnels, { ...endpointSource(service), port: { name: port.name, number: port.number } })
  );
}

function hasPersistentSessions(q: QueryContext, { labels }: Service): boolean {
  return q.call(clusterDefaults).persistentSessionLabels.some((name) => (labels[name] ?? "") !== "");
}

/** The field for endpoints of clusters without EDS. */
const loadAssignment = ClusterSchema.field.loadAssignment.number;
