import {
  authorizationPolicies,
  authorizationPolicyKind,
  type ConfigObject,
  grpcRouteKind,
  grpcRoutes,
  httpRouteKind,
  httpRoutes,
  kubernetesGatewayKind,
  kubernetesGateways,
  serviceEntries,
  serviceEntryKind,
  serviceKind,
  services,
  workloadEntries,
  workloadEntryKind,
} from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";

/** Analyzers of the conditions that controllers write into the status of objects. */
export const conditionAnalyzers: readonly Analyzer[] = [
  {
    name: "conditions.ConditionAnalyzer",
    description: "Finds negative conditions in the status of objects",
    codes: ["IST0171"],
    rules: [
      rule(serviceKind, services, checkConditions),
      rule(serviceEntryKind, serviceEntries, checkConditions),
      rule(workloadEntryKind, workloadEntries, checkConditions),
      rule(authorizationPolicyKind, authorizationPolicies, checkConditions),
      rule(kubernetesGatewayKind, kubernetesGateways, checkConditions),
      rule(httpRouteKind, httpRoutes, checkConditions),
      rule(grpcRouteKind, grpcRoutes, checkConditions),
    ],
  },
];

function checkConditions({ conditions = [] }: ConfigObject<unknown, unknown>, { report }: AnalysisContext): void {
  for (const { type, status, reason, message, path } of conditions) {
    const explained = message === "" ? "" : `: ${message}`;
    report(
      "IST0171",
      path,
      `the status has the negative condition ${type}=${status} with reason ${reason || "unknown"}${explained}`,
    );
  }
}
