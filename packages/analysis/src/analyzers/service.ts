import { serviceKind, type ServiceObject, services, sidecarsByNamespace } from "@istiod/config-schema";
import { MeshConfig_OutboundTrafficPolicy_Mode as OutboundMode } from "@istiod/istio-api/mesh/v1alpha1/config";
import { mesh } from "@istiod/push-context";
import { destinationHost } from "../queries/destination-hosts.js";
import { isHttp, kubernetesPortProtocol, type Protocol } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
import { nearestNames } from "@istiod/settings";
import { selectedPods } from "../queries/pods.js";
import { sidecarsIn } from "../queries/clients.js";
import { listNames } from "../suggestions.js";
import { isControlPlane, isManagedGateway } from "../queries/objects.js";
import { checkConsistency } from "./multi-cluster-service.js";

/** Analyzers of Kubernetes Services. */
export const serviceAnalyzers: readonly Analyzer[] = [
  {
    name: "service.PortNameAnalyzer",
    description: "Checks that the names of service ports select a protocol",
    codes: ["IST0118", "IST0150"],
    rules: [rule(serviceKind, services, checkPortNames)],
  },
  {
    name: "service.AppProtocolAnalyzer",
    description: "Checks that the appProtocol of service ports selects the same kind of protocol as their names",
    codes: ["MESH0070"],
    rules: [rule(serviceKind, services, checkAppProtocols)],
  },
  {
    name: "service.TargetPortAnalyzer",
    description: "Checks that workloads of a service declare the ports that it names",
    codes: ["MESH0041"],
    rules: [rule(serviceKind, services, checkTargetPorts)],
  },
  {
    name: "service.ExternalNameAnalyzer",
    description: "Checks that sidecars may connect to the hosts of ExternalName Services",
    codes: ["IST0101"],
    rules: [rule(serviceKind, services, checkExternalName)],
  },
  {
    name: "services.MultiClusterServiceAnalyzer",
    description: "Checks that a service is the same in all clusters",
    codes: ["IST0170"],
    rules: [rule(serviceKind, services, checkConsistency)],
  },
];

function checkPortNames(service: ServiceObject, { report }: AnalysisContext): void {
  if (isControlPlane(service) || isManagedGateway(service)) return;
  const external = service.spec.type === "ExternalName";
  for (const [i, port] of service.spec.ports.entries()) {
    const unnamed = kubernetesPortProtocol(port) === "UnsupportedProtocol" && !hidesProtocol(port);
    const path = ["spec", "ports", i];
    if (external && (unnamed || port.name === "tcp")) {
      report(
        "IST0150",
        path,
        `port ${port.port} of an ExternalName service is TCP by its name ${JSON.stringify(port.name)}, which captures all traffic to that port; name it for its protocol, such as http or tls`,
      );
    } else if (unnamed) {
      const name = port.name === "" ? "has no name" : `is named ${JSON.stringify(port.name)}`;
      report(
        "IST0118",
        path,
        `port ${port.port} ${name}, which selects no protocol, so that it is detected or treated as TCP; name it <protocol>[-<suffix>], such as http-web, or set appProtocol`,
      );
    }
  }
}

/** Reports whether the name of a port selects a protocol, and its `appProtocol` selects none. */
function hidesProtocol(port: ServiceObject["spec"]["ports"][number]): boolean {
  return port.appProtocol !== undefined && protocolOfName(port) !== "UnsupportedProtocol";
}

/** Returns the protocol that the name of a port selects, whatever its number and `appProtocol`. */
function protocolOfName({ name, protocol }: ServiceObject["spec"]["ports"][number]): Protocol {
  return kubernetesPortProtocol({ name, protocol, port: 0 });
}

function checkAppProtocols(service: ServiceObject, { report }: AnalysisContext): void {
  if (isControlPlane(service) || isManagedGateway(service) || service.spec.type === "ExternalName") return;
  for (const [i, port] of service.spec.ports.entries()) {
    const { appProtocol } = port;
    const overTcp = protocolOfName({ ...port, protocol: "TCP" });
    if (port.protocol === "UDP" && isHttp(overTcp))
      report(
        "MESH0070",
        ["spec", "ports", i, "protocol"],
        `is UDP, which proxies do not serve, and the name ${JSON.stringify(port.name)} is of ${overTcp}, which is over TCP; write TCP, or rename the port`,
        "Info",
      );
    // A name of the user's choice, without a protocol that Istio knows, says nothing else.
    const named = protocolOfName(port);
    if (appProtocol === undefined || named === "UDP" || named === "UnsupportedProtocol") continue;
    const protocol = kubernetesPortProtocol({ ...port, port: 0 });
    const path = ["spec", "ports", i, "appProtocol"];
    const [said, other] = [JSON.stringify(appProtocol), JSON.stringify(port.name)];
    if (protocol === "UnsupportedProtocol") {
      report(
        "MESH0070",
        path,
        `is ${said}, which selects no protocol and takes precedence over the name ${other}, so that port ${port.port} is detected or treated as TCP; remove it, or write ${named.toLowerCase()}`,
      );
    } else if (layerOf(protocol) !== layerOf(named)) {
      // Load balancers that terminate TLS have plaintext behind a port that is named for their clients.
      const level = layerOf(named) === "TLS" ? "Info" : undefined;
      report(
        "MESH0070",
        path,
        `is ${said}, which takes precedence over the name ${other}: port ${port.port} is ${protocol}, not ${named}; make them agree`,
        level,
      );
    }
  }
}

/** Returns which of a protocol's data proxies read. */
function layerOf(protocol: Protocol): "HTTP" | "TLS" | "TCP" {
  return isHttp(protocol) ? "HTTP" : protocol === "HTTPS" || protocol === "TLS" ? "TLS" : "TCP";
}

function checkTargetPorts(service: ServiceObject, { q, report }: AnalysisContext): void {
  const { namespace, spec } = service;
  if (spec.selector === undefined || isControlPlane(service) || isManagedGateway(service)) return;
  const named = [...spec.ports.entries()].filter(([, { targetPort }]) => /[a-z]/i.test(String(targetPort ?? "")));
  if (named.length === 0) return;
  const selected = q.call(selectedPods, { namespace, labels: spec.selector });
  if (selected.length === 0) return;
  const declared = new Set(selected.flatMap(({ ports = [] }) => ports.flatMap(({ name }) => name || [])));
  for (const [i, { port, targetPort }] of named) {
    const name = String(targetPort);
    if (declared.has(name)) continue;
    const near = nearestNames(name, [...declared]);
    const others = declared.size === 0 ? "they name none" : `they have ${listNames([...declared].sort())}`;
    report(
      "MESH0041",
      ["spec", "ports", i, "targetPort"],
      `is ${JSON.stringify(name)}, and no selected workload has a port of this name, so that port ${port} has no endpoints: ${near.length === 0 ? others : `did you mean ${near.map((each) => JSON.stringify(each)).join(" or ")}?`}`,
    );
  }
}

/** Reports an alias of a host to which sidecars do not connect: with REGISTRY_ONLY, a ServiceEntry must declare it. */
function checkExternalName({ spec, namespace }: ServiceObject, { q, report }: AnalysisContext): void {
  if (spec.type !== "ExternalName" || spec.externalName === "") return;
  const { outboundTrafficPolicy } = mesh(q);
  if (outboundTrafficPolicy?.mode !== OutboundMode.REGISTRY_ONLY || q.keys(sidecarsByNamespace).length > 0) return;
  if (q.call(sidecarsIn, namespace).length === 0) return;
  const host = spec.externalName.replace(/\.$/, "");
  if (q.call(destinationHost, { host, namespace, exportTo: [] }) !== undefined) return;
  report(
    "IST0101",
    ["spec", "externalName"],
    `referenced host ${JSON.stringify(host)} not found, so that connections of sidecars to it are closed: outboundTrafficPolicy is REGISTRY_ONLY, and no ServiceEntry declares it`,
    "Warning",
  );
}
