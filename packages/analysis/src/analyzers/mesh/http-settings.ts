import {
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  type FieldPath,
} from "@istiod/config-schema";
import type { TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features, resolveHost } from "@istiod/push-context";
import { isTcp } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { portsOfHost } from "../../queries/route-places.js";
import { originatesTls } from "../../queries/tls-origination.js";
import { listNames } from "../../suggestions.js";

export const httpSettingsAnalyzer: Analyzer = {
  name: "mesh.HttpSettingsAnalyzer",
  description: "Checks for settings of HTTP requests for hosts that have TCP ports only",
  codes: ["MESH0042"],
  rules: [rule(destinationRuleKind, destinationRules, checkSettings)],
};

type Settings = Pick<TrafficPolicy, "connectionPool" | "loadBalancer">;

function checkSettings({ namespace, spec }: DestinationRuleObject, { q, report }: AnalysisContext): void {
  const found = [spec.trafficPolicy, ...spec.subsets.map(({ trafficPolicy }) => trafficPolicy)].flatMap((policy, i) => {
    const path = i === 0 ? ["spec", "trafficPolicy"] : ["spec", "subsets", i - 1, "trafficPolicy"];
    return policy === undefined ? [] : httpSettings(policy, path);
  });
  if (found.length === 0) return;
  const hostname = resolveHost(spec.host, { namespace, domain: features.domainSuffix(q) });
  const ports = portsOfHost(q, hostname) ?? [];
  // HTTP routes may lead to ports with TLS that a rule originates.
  if (ports.length === 0 || !ports.every(({ protocol }) => isTcp(protocol)) || originatesTls(q, hostname)) return;
  const listed = listNames([...new Set(ports.map(({ number, protocol }) => `${number} ${protocol}`))]);
  for (const path of found)
    report(
      "MESH0042",
      path,
      `${String(path.at(-1))} has no effect: ${spec.host} has no port for HTTP (${listed}), and connections have no requests; use settings of connections, such as connectionPool.tcp and useSourceIp`,
    );
}

/** Returns the paths of settings that need requests. */
function httpSettings({ connectionPool, loadBalancer }: Settings, path: FieldPath): readonly FieldPath[] {
  const policy = loadBalancer?.lbPolicy;
  const key = policy?.case === "consistentHash" ? policy.value.hashKey.case : undefined;
  return [
    ...(connectionPool?.http === undefined ? [] : [[...path, "connectionPool", "http"]]),
    ...(key === undefined || key === "useSourceIp" ? [] : [[...path, "loadBalancer", "consistentHash", key]]),
  ];
}
