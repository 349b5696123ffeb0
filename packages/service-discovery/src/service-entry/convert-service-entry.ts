import { isIP, isIPv4 } from "node:net";
import type { ServiceEntryObject } from "@istiod/config-schema";
import { ServiceEntry_Location } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { CANONICAL_NAME_LABEL, CANONICAL_REVISION_LABEL, canonicalServiceOf } from "../labels.js";
import { UNSPECIFIED_ADDRESS, type Labels, type Service } from "../model/service.js";
import { parseProtocol } from "../protocol.js";
import { trafficDistributionOf } from "../kubernetes/traffic-distribution.js";
import type { VisibilityLimit } from "../settings/mesh.js";
import type { HashedAddresses } from "./hashed-addresses.js";
import { resolutionOf } from "./resolution.js";

const AUTOALLOCATE_LABEL = "networking.istio.io/enable-autoallocate-ip";
const CONNECT_STRATEGY = "istio.io/connect-strategy";

/** Inputs of a ServiceEntry's services in addition to the object itself. */
export interface ServiceEntryContext {
  readonly namespaceAnnotations: Readonly<Record<string, string>>;
  readonly visibility: VisibilityLimit;
  /** The addresses that are allocated to the host, of which there is at most one per family. */
  readonly allocated: Partial<HashedAddresses> | undefined;
  /** Adds canonical service labels to services outside of the mesh. */
  readonly addCanonicalLabels: boolean;
}

/**
 * Returns the addresses of each host of a ServiceEntry, in order and deduplicated: IPs and CIDRs, or `0.0.0.0`. A CIDR
 * with a single address is returned as that address.
 */
export function addressesOf(entry: ServiceEntryObject): readonly string[] {
  if (entry.spec.addresses.length === 0) return [UNSPECIFIED_ADDRESS];
  return [...new Set(entry.spec.addresses.flatMap((address) => normalizeAddress(address) ?? []))];
}

/** Converts one host of a ServiceEntry at one address to a service. Source: `serviceentry/conversion.go`. */
export function convertServiceEntry(
  entry: ServiceEntryObject,
  at: { readonly id: string; readonly hostname: string; readonly address: string },
  context: ServiceEntryContext,
): Service {
  const { spec, annotations, namespace, name } = entry;
  const resolution = resolutionOf(entry);
  const meshExternal = spec.location === ServiceEntry_Location.MESH_EXTERNAL;
  const { allocated } = context;
  return {
    id: at.id,
    key: `${namespace}/${at.hostname}`,
    hostname: at.hostname,
    namespace,
    name: at.hostname,
    objectName: name,
    registry: "External",
    resolution,
    meshExternal,
    creationTimestamp: entry.creationTimestamp,
    ports: spec.ports.map((port) => ({ name: port.name, number: port.number, protocol: parseProtocol(port.protocol) })),
    defaultAddress: at.address,
    clusterAddresses: {},
    ...(allocated?.ipv4 !== undefined && { autoAllocatedIpv4: allocated.ipv4 }),
    ...(allocated?.ipv6 !== undefined && { autoAllocatedIpv6: allocated.ipv6 }),
    labels: context.addCanonicalLabels && meshExternal ? withCanonicalService(entry.labels, name) : entry.labels,
    exportTo: [...new Set(spec.exportTo)],
    visibility: context.visibility,
    ...(spec.workloadSelector !== undefined && { selector: spec.workloadSelector.labels }),
    declaredIdentities: spec.subjectAltNames,
    type: "",
    externalName: "",
    nodeLocal: false,
    trafficDistribution: trafficDistributionOf(undefined, annotations, context.namespaceAnnotations),
    publishNotReadyAddresses: false,
    raceFirstTcpConnect: annotations[CONNECT_STRATEGY]?.toUpperCase() === "RACE_FIRST_TCP_CONNECT",
    passthroughTargetPorts:
      resolution === "Passthrough"
        ? Object.fromEntries(
            spec.ports.flatMap((port) => (port.targetPort === 0 ? [] : [[port.number, port.targetPort]])),
          )
        : {},
    externalAddresses: {},
    externalPorts: {},
  };
}

/**
 * Reports whether the hosts of a ServiceEntry are allocated addresses: not if it has addresses, opts out, or has
 * resolution NONE.
 */
export function allocatesAddresses(entry: ServiceEntryObject): boolean {
  if (entry.spec.addresses.length > 0 || resolutionOf(entry) === "Passthrough") return false;
  return entry.labels[AUTOALLOCATE_LABEL]?.toLowerCase() !== "false";
}

/** Returns the addresses for a host in the status of a ServiceEntry, the last of each family. */
export function addressesInStatus({ status }: ServiceEntryObject, hostname: string): Partial<HashedAddresses> {
  const out: { ipv4?: string; ipv6?: string } = {};
  for (const { value, host } of status?.addresses ?? []) {
    if (host === hostname && isIP(value) !== 0) out[isIPv4(value) ? "ipv4" : "ipv6"] = value;
  }
  return out;
}

function normalizeAddress(address: string): string | undefined {
  if (isIP(address) !== 0) return address;
  const slash = address.indexOf("/");
  if (slash < 0) return undefined;
  const ip = address.slice(0, slash);
  const bits = address.slice(slash + 1);
  const length = isIP(ip) === 4 ? 32 : isIP(ip) === 6 ? 128 : -1;
  if (!/^(0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > length) return undefined;
  return Number(bits) === length ? ip : address;
}

function withCanonicalService(labels: Labels, name: string): Labels {
  const canonical = canonicalServiceOf(labels, name);
  return { ...labels, [CANONICAL_NAME_LABEL]: canonical.name, [CANONICAL_REVISION_LABEL]: canonical.revision };
}
