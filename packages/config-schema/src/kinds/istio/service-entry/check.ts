import {
  ServiceEntry_Location as Location,
  ServiceEntry_Resolution as Resolution,
  type ServiceEntry,
} from "@istiod/istio-api/networking/v1alpha3/service_entry";
import type { ConfigObject } from "../../../config-object.js";
import { checkPort, checkSubnet } from "../../../validation/network/addresses.js";
import { checkExportTo } from "../../../validation/export-to.js";
import { isWildcard } from "../../../validation/network/hosts.js";
import { isIpAddress } from "../../../validation/network/ip.js";
import {
  checkLabels,
  checkPortName,
  checkWildcardDomain,
  fqdnFault,
  hasPartialWildcard,
} from "../../../validation/network/names.js";
import { warnOfIdentity } from "../../../validation/literal-values.js";
import { each, type Place } from "../../../validation/place.js";
import { checkProduct, type Factor } from "../../../validation/products.js";
import { checkProtocol, isHttp, isTcp, isTls } from "../../../validation/network/protocol.js";
import { checkEndpointSelector } from "../../../validation/targets.js";
import { checkWorkload, checkWorkloadPorts } from "../../../validation/network/workload.js";

type Entry = Pick<ConfigObject<ServiceEntry, unknown>, "spec" | "labels" | "namespace">;

/** Validates a spec as Istio's `ValidateServiceEntry` does. */
export function checkServiceEntry(entry: Entry, place: Place): void {
  const { spec, namespace } = entry;
  checkEndpointSelector(spec.workloadSelector, place.at("workloadSelector"));
  if (spec.workloadSelector !== undefined && spec.endpoints.length > 0)
    place.at("endpoints").error("is set together with workloadSelector, expected only one of them");
  checkHosts(spec, place.at("hosts"));
  each(spec.addresses, place.at("addresses"), checkSubnet);
  each(spec.subjectAltNames, place.at("subjectAltNames"), warnOfIdentity);
  if (
    spec.addresses.some((a) => a.includes("/")) &&
    spec.resolution !== Resolution.NONE &&
    spec.resolution !== Resolution.STATIC
  ) {
    place
      .at("addresses")
      .error(
        `has a CIDR range with resolution ${Resolution[spec.resolution]}, expected ranges only with NONE and STATIC`,
      );
  }
  checkPorts(entry, place.at("ports"));
  checkResolution(entry, place);
  const ambiguous = spec.ports.findIndex((p) => !isHttp(p.protocol) && !isTls(p.protocol));
  if (spec.resolution !== Resolution.NONE && spec.hosts.length > 1 && ambiguous >= 0) {
    place.at("ports", ambiguous, "protocol").error("does not tell hosts apart, expected HTTP or TLS, or a single host");
  }
  checkExportTo(spec.exportTo, namespace, place.at("exportTo"), { nobodyAllowed: true });
  checkProducts(spec, place);
}

/** Bounds what each host has: a cluster for each port, with its endpoints, and listeners at its addresses. */
function checkProducts(spec: ServiceEntry, place: Place): void {
  const { hosts, ports, endpoints, addresses, subjectAltNames } = spec;
  const each: readonly Factor[] = [
    ["hosts", hosts.length],
    ["ports", ports.length],
  ];
  checkProduct("clusters", "clusters", each, place.at("ports"));
  const copies: readonly Factor[] =
    addresses.length > 1 && spec.resolution !== Resolution.DNS_ROUND_ROBIN ? [["addresses", addresses.length]] : [];
  checkProduct("endpoints", "endpoints", [...each, ...copies, ["endpoints", endpoints.length]], place.at("endpoints"));
  checkProduct("addresses", "addresses", [...each, ["addresses", addresses.length]], place.at("addresses"));
  const bytes = subjectAltNames.reduce((sum, name) => sum + name.length, 0);
  checkProduct("bytes", "bytes", [...each, ["bytes of subjectAltNames", bytes]], place.at("subjectAltNames"));
}

function checkHosts({ hosts, resolution }: ServiceEntry, place: Place): void {
  each(hosts, place, (host, at) => {
    if (host === "*") at.error('is "*", expected a name or a wildcard such as *.example.com');
    else checkWildcardDomain(host, at);
    if (host !== "*" && resolution !== Resolution.DYNAMIC_DNS && hasPartialWildcard(host))
      at.warning(`is ${JSON.stringify(host)}, expected * to be the whole first label`);
  });
}

function checkPorts({ spec, labels }: Entry, place: Place): void {
  const allocated =
    spec.resolution !== Resolution.NONE &&
    spec.addresses.length === 0 &&
    labels["networking.istio.io/enable-autoallocate-ip"]?.toLowerCase() !== "false";
  each(spec.ports, place, (port, at) => {
    checkPort(port.number, at.at("number"));
    checkPortName(port.name, at.at("name"));
    checkProtocol(port.protocol, at.at("protocol"));
    if (port.targetPort !== 0) checkPort(port.targetPort, at.at("targetPort"));
    if (spec.addresses.length === 0 && !allocated && (port.protocol === "" || port.protocol === "TCP")) {
      at.at("protocol").warning("is TCP or missing, expected also addresses, which identify its connections");
    }
  });
}

function checkResolution({ spec, labels }: Entry, place: Place): void {
  const { resolution, endpoints, hosts, addresses, ports } = spec;
  const portNames = new Set(ports.map((p) => p.name));
  switch (resolution) {
    case Resolution.NONE:
      if (endpoints.length > 0) place.at("endpoints").error("is set, expected none with resolution NONE");
      if (spec.workloadSelector !== undefined)
        place.at("workloadSelector").warning("has no effect with resolution NONE");
      break;
    case Resolution.STATIC:
      each(endpoints, place.at("endpoints"), (endpoint, at) =>
        checkWorkload(endpoint, { namesAllowed: false, servicePorts: portNames }, at),
      );
      break;
    case Resolution.DNS:
    case Resolution.DNS_ROUND_ROBIN:
      checkDns(spec, portNames, place);
      break;
    case Resolution.DYNAMIC_DNS:
      each(hosts, place.at("hosts"), (host, at) => {
        if (!isWildcard(host)) at.error(`is ${JSON.stringify(host)}, expected a wildcard with resolution DYNAMIC_DNS`);
      });
      if (addresses.length > 0) place.at("addresses").error("is set, expected none with resolution DYNAMIC_DNS");
      if (endpoints.length > 0) place.at("endpoints").error("is set, expected none with resolution DYNAMIC_DNS");
      each(ports, place.at("ports"), ({ protocol }, at) => {
        if (!["http", "tls", "grpc", "http2"].includes(protocol.toLowerCase()))
          at.at("protocol").error(
            `is ${JSON.stringify(protocol)}, expected HTTP, HTTP2, GRPC or TLS with resolution DYNAMIC_DNS`,
          );
      });
      if (spec.location === Location.MESH_INTERNAL && usesWaypoint(labels))
        place
          .at("location")
          .error("is MESH_INTERNAL with a waypoint, expected MESH_EXTERNAL with resolution DYNAMIC_DNS");
      break;
    default:
      place
        .at("resolution")
        .error(`is ${String(resolution)}, expected NONE, STATIC, DNS, DNS_ROUND_ROBIN or DYNAMIC_DNS`);
  }
}

function checkDns(
  { resolution, endpoints, hosts, addresses, ports }: ServiceEntry,
  portNames: ReadonlySet<string>,
  place: Place,
): void {
  if (endpoints.length === 0) {
    each(hosts, place.at("hosts"), (host, at) => {
      if (fqdnFault(host) !== undefined)
        at.error(`is ${JSON.stringify(host)}, expected a name that can be resolved, or endpoints`);
    });
  }
  if (resolution === Resolution.DNS_ROUND_ROBIN && endpoints.length > 1)
    place.at("endpoints").error(`has ${endpoints.length} elements, expected at most 1 with resolution DNS_ROUND_ROBIN`);
  each(endpoints, place.at("endpoints"), (endpoint, at) => {
    if (!isIpAddress(endpoint.address) && fqdnFault(endpoint.address) !== undefined)
      at.at("address").error(`is ${JSON.stringify(endpoint.address)}, expected a domain name or an IP address`);
    checkLabels(endpoint.labels, at.at("labels"));
    checkWorkloadPorts(endpoint.ports, portNames, at.at("ports"));
  });
  if (addresses.length > 0 && hosts.length > 1 && ports.some((p) => isTcp(p.protocol))) {
    place
      .at("hosts")
      .warning("has several hosts with the same addresses and a TCP port, whose connections cannot be told apart");
  }
}

function usesWaypoint(labels: Readonly<Record<string, string>>): boolean {
  const waypoint = labels["istio.io/use-waypoint"] ?? "";
  return waypoint !== "" && waypoint.toLowerCase() !== "none";
}
