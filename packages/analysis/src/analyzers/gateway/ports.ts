import { gatewayKind, type GatewayObject, gateways, servicesByNamespace } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { hasLabels } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { listNames } from "../../suggestions.js";
import { formatSelector, selectedPods } from "../../queries/pods.js";
import { podsOfGateway } from "./selection.js";

export const gatewayPortAnalyzer: Analyzer = {
  name: "gateway.IngressGatewayPortAnalyzer",
  description: "Checks that the ports of Gateways are ports of the Services of their pods",
  codes: ["IST0101", "IST0162"],
  rules: [rule(gatewayKind, gateways, checkPorts)],
};

function checkPorts(gateway: GatewayObject, context: AnalysisContext): void {
  if (podsOfGateway(gateway, context).length === 0) return;
  const { selector, servers } = gateway.spec;
  const ports = context.q.call(servicePorts, selector);
  for (const [i, { port }] of servers.entries()) {
    if (port === undefined || ports.includes(port.number)) continue;
    const known =
      ports.length === 0
        ? "there is no Service with TCP ports for them"
        : `their Services have ${listNames(ports.map(String))}`;
    const message = `port ${port.number} is not defined on a Service of the gateway's pods (selector ${JSON.stringify(formatSelector(selector))}): ${known}; add the port to the Service`;
    context.report("IST0162", ["spec", "servers", i, "port", "number"], message);
  }
}

/**
 * The TCP ports and target ports of the Services for the pods that a Gateway selects. A Service without a selector
 * matches every pod.
 */
const servicePorts = query("portsOfGateway", (q, labels: Readonly<Record<string, string>>): readonly number[] => {
  const ports = new Set<number>();
  for (const pod of q.call(selectedPods, { labels })) {
    for (const { cluster, spec } of q.read(servicesByNamespace, pod.namespace)) {
      if (cluster !== pod.cluster || !hasLabels(pod.labels, spec.selector ?? {})) continue;
      for (const { port, protocol, targetPort } of spec.ports) {
        if (protocol !== "TCP") continue;
        ports.add(port);
        if (Number(targetPort) > 0) ports.add(Number(targetPort));
      }
    }
  }
  return [...ports].sort((a, b) => a - b);
});
