import type { ServiceObject } from "@istiod/config-schema";
import { kubernetesPortProtocol } from "../protocol.js";
import { UNSPECIFIED_ADDRESS, type Resolution, type Service } from "../model/service.js";
import { trafficDistributionOf } from "./traffic-distribution.js";

const EXPORT_TO = "networking.istio.io/exportTo";
const KUBERNETES_ACCOUNTS = "alpha.istio.io/kubernetes-serviceaccounts";
const CANONICAL_ACCOUNTS = "alpha.istio.io/canonical-serviceaccounts";
export const NODE_SELECTOR = "traffic.istio.io/nodeSelector";

/** Inputs of a service in addition to the Service object. */
export interface ServiceContext {
  readonly hostname: string;
  readonly namespaceAnnotations: Readonly<Record<string, string>>;
  /** Returns the SPIFFE ID of a service account in the service's namespace. */
  readonly spiffeId: (serviceAccount: string) => string;
  /** External addresses of the nodes that a NodePort service selects by annotation; otherwise undefined. */
  readonly nodeAddresses: readonly string[] | undefined;
}

/**
 * Converts a Kubernetes Service of one cluster to a service. Source: `pilot/pkg/serviceregistry/kube/conversion.go`.
 */
export function convertKubernetesService(object: ServiceObject, context: ServiceContext): Service {
  const { spec, annotations, namespace, name, cluster } = object;
  const externalName = externalHost(spec);
  const alias = externalName !== undefined;
  const addresses = addressesOf(object);
  const external = externalAddressesOf(object, context.nodeAddresses);
  return {
    id: `${namespace}/${context.hostname}`,
    key: `${namespace}/${context.hostname}`,
    hostname: context.hostname,
    namespace,
    name,
    objectName: name,
    registry: "Kubernetes",
    resolution: resolutionOf(spec.clusterIP, alias),
    meshExternal: alias,
    creationTimestamp: object.creationTimestamp,
    ports: spec.ports.map((port) => ({ name: port.name, number: port.port, protocol: kubernetesPortProtocol(port) })),
    defaultAddress: addresses[0] ?? UNSPECIFIED_ADDRESS,
    clusterAddresses: { [cluster]: addresses },
    labels: object.labels,
    exportTo: exportTargets(object),
    visibility: "public",
    ...(spec.selector !== undefined && { selector: spec.selector }),
    declaredIdentities: [
      ...splitAnnotation(annotations[CANONICAL_ACCOUNTS]),
      ...splitAnnotation(annotations[KUBERNETES_ACCOUNTS]).map(context.spiffeId),
    ],
    type: spec.type,
    externalName: externalName ?? "",
    nodeLocal: spec.internalTrafficPolicy === "Local",
    trafficDistribution: trafficDistributionOf(spec.trafficDistribution, annotations, context.namespaceAnnotations),
    publishNotReadyAddresses: spec.publishNotReadyAddresses,
    raceFirstTcpConnect: false,
    passthroughTargetPorts: {},
    externalAddresses: external.length === 0 ? {} : { [cluster]: external },
    externalPorts:
      context.nodeAddresses === undefined
        ? {}
        : { [cluster]: Object.fromEntries(spec.ports.map((port) => [port.port, port.nodePort ?? 0])) },
  };
}

/** Returns the host that an ExternalName Service refers to, without the dot at its end; undefined for other types. */
export function externalHost({ type, externalName }: ServiceObject["spec"]): string | undefined {
  return type === "ExternalName" && externalName !== "" ? externalName.replace(/\.$/, "") : undefined;
}

/** Returns the namespaces in a Service's exportTo annotation; empty without the annotation. */
export function exportTargets({ annotations }: ServiceObject): readonly string[] {
  return splitAnnotation(annotations[EXPORT_TO]).map((entry) => entry.trim());
}

function resolutionOf(clusterIP: string, alias: boolean): Resolution {
  if (clusterIP === "None") return "Passthrough";
  return alias ? "Alias" : "ClientSideLB";
}

function addressesOf({ spec }: ServiceObject): readonly string[] {
  if (spec.clusterIP === "None" || spec.clusterIP === "") return [UNSPECIFIED_ADDRESS];
  return spec.clusterIPs.length > 1 ? spec.clusterIPs : [spec.clusterIP];
}

function externalAddressesOf(
  { spec, status }: ServiceObject,
  nodeAddresses: readonly string[] | undefined,
): readonly string[] {
  const loadBalancerAddresses =
    spec.type === "LoadBalancer"
      ? (status?.loadBalancer ?? []).flatMap((ingress) => ingress.ip || ingress.hostname || [])
      : [];
  const declared = [...loadBalancerAddresses, ...spec.externalIPs];
  return declared.length === 0 ? (nodeAddresses ?? []) : declared;
}

function splitAnnotation(annotation: string | undefined): readonly string[] {
  return annotation === undefined || annotation === "" ? [] : annotation.split(",");
}
