import { serviceKind, type ServiceObject, services } from "@istiod/config-schema";
import { kubernetesPortProtocol } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
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
    const unnamed = kubernetesPortProtocol(port) === "UnsupportedProtocol";
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
