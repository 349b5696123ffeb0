import { serviceKind, type ServiceObject, services } from "@istiod/config-schema";
import { mayHaveNetworkGateways } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

const label = "topology.istio.io/network";

export const networkGatewayAnalyzer: Analyzer = {
  name: "mesh.NetworkGatewayAnalyzer",
  description: "Checks that gateways of networks are in namespaces that may have them",
  codes: ["MESH0022"],
  rules: [rule(serviceKind, services, checkService)],
};

function checkService({ namespace, labels }: ServiceObject, { q, report }: AnalysisContext): void {
  const network = labels[label] ?? "";
  if (network === "" || mayHaveNetworkGateways(q, namespace)) return;
  report(
    "MESH0022",
    ["metadata", "labels", label],
    `the Service is no gateway of network ${network}, because only Services of the root namespace are; ISTIOD_NETWORK_GATEWAY_NAMESPACES=${namespace} allows it`,
  );
}
