import { authorizationPolicies, authorizationPolicyKind, type AuthorizationPolicyObject } from "@istiod/config-schema";
import { features } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { consequenceWithoutHttp, rulesOfUndeclaredPorts } from "../../queries/undetected-http.js";

export const undetectedHttpAnalyzer: Analyzer = {
  name: "mesh.UndetectedHttpAnalyzer",
  description: "Checks for rules by HTTP attributes at ports where HTTP is not detected",
  codes: ["MESH0051"],
  rules: [rule(authorizationPolicyKind, authorizationPolicies, checkRules)],
};

function checkRules(_: AuthorizationPolicyObject, { q, key, report }: AnalysisContext): void {
  if (features.alpnFilter(q)) return;
  for (const found of q.call(rulesOfUndeclaredPorts, key))
    report(
      "MESH0051",
      ["spec", "rules", found.index],
      `with PILOT_ENABLE_ALPN_FILTER=false, clients do not announce HTTP over mutual TLS at ports without a declared protocol: the rule ${consequenceWithoutHttp(found)}; declare the protocol by the port's name or appProtocol`,
    );
}
