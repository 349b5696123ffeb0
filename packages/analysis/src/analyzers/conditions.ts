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
import { gatewayApiFeatures, gatewayStatus } from "@istiod/gateway-api";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
import { isServed } from "../served.js";

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
      rule(kubernetesGatewayKind, kubernetesGateways, checkGateway),
      rule(httpRouteKind, httpRoutes, checkRoute),
      rule(grpcRouteKind, grpcRoutes, checkRoute),
    ],
  },
];

/**
 * Checks a Gateway. Conditions that a running istiod writes itself are older than what it knows, which
 * `k8sgateway.StatusAnalyzer` reports.
 */
function checkGateway(gateway: ConfigObject<unknown, unknown>, context: AnalysisContext): void {
  const { q, key } = context;
  if (!isServed(q) || q.call(gatewayStatus, key) === undefined) checkConditions(gateway, context);
}

/** Checks a route, of which each parent has conditions of its controller. */
function checkRoute(route: ConfigObject<unknown, unknown>, context: AnalysisContext): void {
  const { q } = context;
  const own = isServed(q) ? gatewayApiFeatures.controllerName(q) : undefined;
  const conditions = route.conditions?.filter(({ controllerName }) => own === undefined || controllerName !== own);
  checkConditions({ conditions: conditions ?? [] }, context);
}

function checkConditions(
  { conditions = [] }: Pick<ConfigObject<unknown, unknown>, "conditions">,
  { report }: AnalysisContext,
): void {
  for (const { type, status, reason, message, path } of conditions) {
    const explained = message === "" ? "" : `: ${message}`;
    report(
      "IST0171",
      path,
      `the status has the negative condition ${type}=${status} with reason ${reason || "unknown"}${explained}`,
    );
  }
}
