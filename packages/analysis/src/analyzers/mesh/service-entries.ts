import { serviceEntries, serviceEntryKind, type ServiceEntryObject } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import {
  ServiceEntry_Location as Location,
  ServiceEntry_Resolution as Resolution,
  type ServiceEntry,
} from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { features, modeOfPort, workloadPeerModes } from "@istiod/push-context";
import {
  allEndpoints,
  canonicalAddress,
  isHttp,
  isTls,
  kubernetesServicesByName,
  parseProtocol,
} from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { originatesTls, verifiesNames } from "../../queries/tls-origination.js";
import { kubernetesName } from "../../queries/destination-hosts.js";
import { isInjected } from "../../queries/pods.js";
import { isTemplate, redirectedPorts } from "../../queries/workload-sources.js";
import { workloadsWith } from "../../queries/workloads.js";
import { listNames } from "../../suggestions.js";

export const serviceEntryAnalyzer: Analyzer = {
  name: "mesh.ServiceEntryAnalyzer",
  description: "Checks that the parts of a ServiceEntry agree, and that its hosts are not those of Services",
  codes: ["MESH0009", "MESH0017", "MESH0042", "MESH0047", "MESH0048"],
  rules: [
    rule(serviceEntryKind, serviceEntries, checkEndpoints),
    rule(serviceEntryKind, serviceEntries, checkLocation),
    rule(serviceEntryKind, serviceEntries, checkProtocols),
    rule(serviceEntryKind, serviceEntries, checkHosts),
    rule(serviceEntryKind, serviceEntries, checkNames),
    rule(serviceEntryKind, serviceEntries, checkPlaintext),
  ],
};

/** Reports hosts with static endpoints of which there are none, in no declaration of the host. */
function checkEndpoints({ namespace, spec }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  if (spec.resolution !== Resolution.STATIC || spec.endpoints.length > 0 || spec.workloadSelector !== undefined) return;
  const without = spec.hosts.filter((host) => q.call(allEndpoints, { service: `${namespace}/${host}` }).length === 0);
  if (without.length === 0) return;
  const addresses = spec.addresses.length > 0 ? " (addresses are those of the clients' side)" : "";
  report(
    "MESH0009",
    ["spec", "resolution"],
    `${listNames(without)} has no endpoints, so that requests to it fail: resolution STATIC takes them from endpoints or workloadSelector${addresses}; add endpoints, or set resolution to DNS`,
  );
}

/** Suffixes of names that no public DNS server resolves, or that are the mesh's own. */
const internalSuffixes =
  /(^|\.)(local|internal|intranet|lan|corp|home|private|mesh|global|svc|cluster|test|localhost)$/;

function isOutside(q: QueryContext, host: string): boolean {
  const isOfCluster = host.endsWith(`.${features.domainSuffix(q)}`);
  return host.includes(".") && !isOfCluster && !internalSuffixes.test(host) && !/^\d+(\.\d+){3}$/.test(host);
}

/** Reports hosts that are said to be a part of the mesh and have no workloads in it. */
function checkLocation({ spec }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  if (spec.location !== Location.MESH_INTERNAL || spec.workloadSelector !== undefined) return;
  const isResolved = spec.endpoints.every(({ address }) => isOutside(q, address));
  const hosts = spec.hosts.filter((host) => isOutside(q, host));
  if (hosts.length === 0 || !isResolved || spec.resolution === Resolution.STATIC) return;
  report(
    "MESH0047",
    ["spec", "location"],
    `location is MESH_INTERNAL, but ${listNames(hosts)} has no workloads in the mesh: metrics and logs show it as a service of the mesh, and east-west gateways forward other networks' requests to it; set location to MESH_EXTERNAL`,
  );
}

/** Reports hosts outside of the mesh with workloads in it that reject the plaintext that is sent to such hosts. */
function checkPlaintext({ namespace, spec }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  if (spec.location !== Location.MESH_EXTERNAL || spec.workloadSelector === undefined) return;
  if (spec.hosts.some((host) => verifiesNames(q, host))) return;
  const ports = spec.ports.map(({ number, targetPort }) => (targetPort === 0 ? number : targetPort));
  const strict = workloadsWith(q, namespace, spec.workloadSelector.labels).find((workload) => {
    if (workload.machine !== true && !isInjected(q, { ...workload, template: isTemplate(workload) })) return false;
    const modes = q.call(workloadPeerModes, { namespace, labels: workload.labels });
    const strict = ports.filter((port) => modeOfPort(modes, port) === "STRICT");
    return strict.length > 0 && strict.some(redirectedPorts(q, workload));
  });
  if (strict === undefined) return;
  report(
    "MESH0017",
    ["spec", "location"],
    `location is MESH_EXTERNAL, so that plaintext is sent, which ${strict.kind} ${strict.namespace}/${strict.name} rejects: its PeerAuthentication is STRICT; set location to MESH_INTERNAL`,
  );
}

/** Reports names to verify where proxies send no TLS. */
function checkNames({ spec }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  if (spec.subjectAltNames.length === 0 || spec.location !== Location.MESH_EXTERNAL) return;
  if (spec.hosts.some((host) => verifiesNames(q, host))) return;
  report(
    "MESH0042",
    ["spec", "subjectAltNames"],
    "has no effect: no DestinationRule originates TLS to the hosts, so that proxies verify no certificate; add one with tls.mode SIMPLE, or remove it",
  );
}

/** Reports ports whose protocol is not the one that servers at their number speak. */
function checkProtocols({ spec }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  for (const [i, { number, protocol, targetPort }] of spec.ports.entries()) {
    const declared = parseProtocol(protocol);
    const connected = targetPort === 0 ? number : targetPort;
    if (isHttp(declared) && connected === 443 && !spec.hosts.every((host) => originatesTls(q, host))) {
      const message =
        targetPort === 443
          ? "requests are sent to port 443 without TLS, which servers reject; add a DestinationRule with tls.mode SIMPLE for the host"
          : `port 443 is ${protocol}, so that proxies take TLS from applications for malformed HTTP and close the connections, and send plain HTTP to port 443; set protocol to HTTPS, or add a DestinationRule with tls.mode SIMPLE if applications send plain HTTP`;
      report("MESH0047", ["spec", "ports", i, targetPort === 443 ? "targetPort" : "protocol"], message);
    } else if (isTls(declared) && number === 80 && !usesTlsAt(spec, number))
      report(
        "MESH0047",
        ["spec", "ports", i, "protocol"],
        `port 80 is ${protocol}, so that only TLS connections are recognized there, and plain HTTP has no route; set protocol to HTTP`,
      );
  }
}

function usesTlsAt({ ports }: ServiceEntry, number: number): boolean {
  return ports.some((port) => port.number === number && port.targetPort === 443);
}

/** Reports hosts of Services of the same namespace, with other endpoints than those that the Service has. */
function checkHosts({ cluster, namespace, spec }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  for (const [i, host] of spec.hosts.entries()) {
    const named = kubernetesName(host, features.domainSuffix(q));
    if (named === undefined || named.namespace !== namespace) continue;
    const found = q.read(kubernetesServicesByName, `${named.namespace}/${named.name}`);
    if (!found.some((service) => service.cluster === cluster)) continue;
    const own = spec.endpoints.map(({ address }) => canonicalAddress(address));
    const endpoints =
      own.length === 0
        ? "it changes nothing unless it has endpoints"
        : `requests for it go to ${listNames(own)} as well as to the Service's workloads`;
    report(
      "MESH0048",
      ["spec", "hosts", i],
      `${host} is the host of Service ${named.namespace}/${named.name}: ${endpoints}, and the Service's ports and addresses take precedence; name another host, or remove the ServiceEntry`,
    );
  }
}
