import type { AuthorizationPolicyObject, TelemetryObject } from "@istiod/config-schema";
import type { ConsolidatedRule } from "@istiod/push-context";
import type {
  Endpoint,
  Health,
  NetworkGateway,
  Resolution,
  Service,
  ServicePort,
  TrafficDistribution,
} from "@istiod/service-discovery";
import { plain } from "./plain.js";

/*
 * The model in the JSON of Istio's debug endpoints: names of Go's fields, numbers for its enumerations, and null for
 * empty fields without `omitempty`.
 * Sources: pilot/pkg/model/{service,endpointshards,network,authorization,telemetry,push_context}.go.
 */

const resolutions: readonly Resolution[] = [
  "ClientSideLB",
  "DNSLB",
  "Passthrough",
  "DNSRoundRobinLB",
  "Alias",
  "DynamicDNS",
];
const visibilities: readonly Service["visibility"][] = ["public", "namespace", "none"];
const distributions: readonly TrafficDistribution[] = ["Any", "PreferSameZone", "PreferSameNode"];
const healths: readonly Health[] = ["Unknown", "Healthy", "Unhealthy", "Draining", "Terminating"];

/** `model.Service`. */
export function serviceForm(service: Service): object {
  const {
    clusterAddresses,
    externalAddresses,
    externalPorts,
    passthroughTargetPorts,
    labels,
    selector,
    exportTo,
    declaredIdentities,
    defaultAddress,
  } = service;
  return {
    Attributes: {
      ServiceRegistry: service.registry,
      Name: service.name,
      Namespace: service.namespace,
      Labels: orNull(labels),
      ExportTo: setForm(exportTo),
      Visibility: visibilities.indexOf(service.visibility),
      LabelSelectors: orNull(selector ?? {}),
      Aliases: null,
      ClusterExternalAddresses: { Addresses: orNull(externalAddresses) },
      ClusterExternalPorts: orNull(externalPorts),
      PassthroughTargetPorts: orNull(passthroughTargetPorts),
      Type: service.type,
      ExternalName: service.externalName,
      NodeLocal: service.nodeLocal,
      TrafficDistribution: distributions.indexOf(service.trafficDistribution),
      ObjectName: service.objectName,
      DNSConnectStrategy: service.raceFirstTcpConnect ? 1 : 0,
      PublishNotReadyAddresses: service.publishNotReadyAddresses,
    },
    ...(service.ports.length > 0 && { ports: service.ports.map(portForm) }),
    ...(declaredIdentities.length > 0 && { serviceAccounts: declaredIdentities }),
    creationTime: timeForm(service.creationTimestamp),
    hostname: service.hostname,
    clusterVIPs: { Addresses: orNull(clusterAddresses) },
    ...(defaultAddress !== "" && { defaultAddress }),
    ...(service.autoAllocatedIpv4 && { autoAllocatedIPv4Address: service.autoAllocatedIpv4 }),
    ...(service.autoAllocatedIpv6 && { autoAllocatedIPv6Address: service.autoAllocatedIpv6 }),
    Resolution: resolutions.indexOf(service.resolution),
    MeshExternal: service.meshExternal,
    ResourceVersion: "",
  };
}

function portForm({ name, number, protocol }: ServicePort): object {
  return { ...(name !== "" && { name }), port: number, protocol };
}

/** `model.ServiceTarget`. */
export function targetForm(
  service: Service,
  port: { readonly name: string; readonly number: number },
  targetPort: number,
): object {
  const declared = service.ports.find(({ name, number }) => name === port.name && number === port.number);
  return {
    Service: serviceForm(service),
    Port: { ...portForm(declared ?? { ...port, protocol: "TCP" }), TargetPort: targetPort },
  };
}

/** `model.IstioEndpoint`. */
export function endpointForm(endpoint: Endpoint): object {
  const {
    labels,
    addresses,
    portName,
    portNumber,
    identity,
    network,
    locality,
    cluster,
    port,
    weight,
    tlsMode,
    namespace,
    workloadName,
    hostname,
    subdomain,
    health,
    nodeName,
  } = endpoint;
  return {
    Labels: orNull(labels),
    Addresses: addresses,
    ServicePortName: portName,
    LegacyClusterPortKey: portNumber,
    ServiceAccount: identity,
    Network: network,
    Locality: { Label: locality, ClusterID: cluster },
    EndpointPort: port,
    LbWeight: weight,
    TLSMode: tlsMode,
    Namespace: namespace,
    WorkloadName: workloadName,
    HostName: hostname,
    SubDomain: subdomain,
    HealthStatus: healths.indexOf(health),
    NodeName: nodeName,
  };
}

/** `model.NetworkGateway`. */
export function gatewayForm({ network, cluster, address, port, hbonePort }: NetworkGateway): object {
  return {
    Network: network,
    Cluster: cluster,
    Addr: address,
    Port: port,
    HBONEPort: hbonePort,
    ServiceAccount: { Namespace: "", Name: "" },
  };
}

/** `model.AuthorizationPolicies`. */
export function authorizationForm(policies: readonly AuthorizationPolicyObject[], rootNamespace: string): object {
  const form = ({ name, namespace, annotations, spec }: AuthorizationPolicyObject): object => ({
    name,
    namespace,
    annotations: orNull(annotations),
    spec: plain(spec),
  });
  return { namespace_to_policies: byNamespace(policies, form), root_namespace: rootNamespace };
}

/** `model.Telemetries`. */
export function telemetriesForm(telemetries: readonly TelemetryObject[], rootNamespace: string): object {
  return {
    namespace_to_telemetries: byNamespace(telemetries, ({ name, namespace, spec }) => ({
      name,
      namespace,
      spec: plain(spec),
    })),
    root_namespace: rootNamespace,
  };
}

/** `model.ConsolidatedDestRule`. */
export function ruleForm({ namespace, name, spec, exportTo, from }: ConsolidatedRule): object {
  const names = from.map((each) => ({ Namespace: each.split("/")[0] ?? "", Name: each.split("/")[1] ?? "" }));
  return { exportTo: setForm(exportTo), rule: { name, namespace, Spec: plain(spec) }, from: names };
}

/** Formats a time as Go does. 0 is Go's zero time. */
export function timeForm(millisecondsSinceEpoch: number): string {
  return millisecondsSinceEpoch === 0
    ? "0001-01-01T00:00:00Z"
    : new Date(millisecondsSinceEpoch).toISOString().replace(/\.?0*Z$/, "Z");
}

function byNamespace<T extends { readonly namespace: string }>(
  objects: readonly T[],
  form: (object: T) => object,
): object {
  const found: Record<string, object[]> = {};
  for (const object of objects) (found[object.namespace] ??= []).push(form(object));
  return found;
}

function setForm(members: readonly string[]): object | null {
  return orNull(Object.fromEntries(members.map((member) => [member, {}])));
}

function orNull<T extends object>(value: T): T | null {
  return Object.keys(value).length === 0 ? null : value;
}
