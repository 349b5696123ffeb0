import {
  type ConfigObject,
  kubernetesGatewayKind,
  kubernetesGateways,
  serviceKind,
  services,
} from "@istiod/config-schema";
import { mayHaveNetworkGateways } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

const label = "topology.istio.io/network";

export const networkGatewayAnalyzer: Analyzer = {
  name: "mesh.NetworkGatewayAnalyzer",
  description: "Checks that gateways of networks are in namespaces that may have them",
  codes: ["MESH0022"],
  rules: [rule(serviceKind, services, checkLabel), rule(kubernetesGatewayKind, kubernetesGateways, checkLabel)],
};

function checkLabel({ kind, namespace, labels }: ConfigObject<unknown, unknown>, { q, report }: AnalysisContext): void {
  const network = labels[label] ?? "";
  if (network === "" || mayHaveNetworkGateways(q, namespace)) return;
  report(
    "MESH0022",
    ["metadata", "labels", label],
    `the ${kind} is no gateway of network ${network}, because only ${kind}s of the root namespace are; ISTIOD_NETWORK_GATEWAY_NAMESPACES=${namespace} allows it`,
  );
}
