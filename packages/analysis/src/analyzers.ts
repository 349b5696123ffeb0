import { nearestNames } from "@istiod/settings";
import type { Analyzer } from "./analyzer.js";
import { annotationAnalyzers } from "./analyzers/annotations/annotations.js";
import { authorizationPolicyAnalyzers } from "./analyzers/authorization-policy.js";
import { conditionAnalyzers } from "./analyzers/conditions.js";
import { deploymentAnalyzers } from "./analyzers/deployment/deployment.js";
import { deprecationAnalyzers } from "./analyzers/deprecation.js";
import { destinationRuleAnalyzers } from "./analyzers/destination-rule/destination-rule.js";
import { envoyFilterAnalyzers } from "./analyzers/envoy-filter.js";
import { listenerCertificateAnalyzer } from "./analyzers/gateway-api/listener-certificates.js";
import { overriddenPolicyAnalyzer } from "./analyzers/gateway-api/overridden-policies.js";
import { gatewayApiMistakeAnalyzer } from "./analyzers/gateway-api/route-rules.js";
import { extensionAnalyzers } from "./analyzers/extensions.js";
import { targetReferenceAnalyzer } from "./analyzers/target-references.js";
import { gatewayApiStatusAnalyzer } from "./analyzers/gateway-api-status.js";
import { gatewayAnalyzers } from "./analyzers/gateway/gateway.js";
import { injectionAnalyzers } from "./analyzers/injection/injection.js";
import { kubernetesGatewayAnalyzers } from "./analyzers/kubernetes-gateway.js";
import { meshNetworksAnalyzers } from "./analyzers/mesh-networks.js";
import { meshAnalyzers } from "./analyzers/mesh/index.js";
import { schemaAnalyzers } from "./analyzers/schema.js";
import { serviceEntryAnalyzers } from "./analyzers/service-entry.js";
import { serviceAnalyzers } from "./analyzers/service.js";
import { sidecarAnalyzers } from "./analyzers/sidecar.js";
import { telemetryAnalyzers } from "./analyzers/telemetry.js";
import { virtualServiceAnalyzers } from "./analyzers/virtual-service/virtual-service.js";
import { wasmPluginAnalyzers } from "./analyzers/wasm-plugin.js";
import { webhookAnalyzers } from "./analyzers/webhooks/webhooks.js";
import { quotedNearest } from "./suggestions.js";

/** Every analyzer, in the order in which findings about one object are reported. */
export const analyzers: readonly Analyzer[] = [
  ...annotationAnalyzers,
  ...authorizationPolicyAnalyzers,
  ...conditionAnalyzers,
  ...deploymentAnalyzers,
  ...deprecationAnalyzers,
  ...destinationRuleAnalyzers,
  ...envoyFilterAnalyzers,
  ...gatewayAnalyzers,
  ...injectionAnalyzers,
  ...kubernetesGatewayAnalyzers,
  gatewayApiStatusAnalyzer,
  gatewayApiMistakeAnalyzer,
  listenerCertificateAnalyzer,
  overriddenPolicyAnalyzer,
  ...meshNetworksAnalyzers,
  ...serviceAnalyzers,
  ...serviceEntryAnalyzers,
  ...sidecarAnalyzers,
  ...telemetryAnalyzers,
  ...wasmPluginAnalyzers,
  ...extensionAnalyzers,
  targetReferenceAnalyzer,
  ...virtualServiceAnalyzers,
  ...webhookAnalyzers,
  ...meshAnalyzers,
  ...schemaAnalyzers,
];

/**
 * Returns the named analyzers.
 *
 * @throws Error that names an analyzer that does not exist.
 */
export function analyzersNamed(names: readonly string[]): readonly Analyzer[] {
  return names.map((name) => {
    const found = analyzers.find((analyzer) => analyzer.name === name);
    if (found !== undefined) return found;
    const nearest = nearestNames(
      name,
      analyzers.map((analyzer) => analyzer.name),
    );
    throw new Error(`analyzer ${name} does not exist${quotedNearest(nearest)}`);
  });
}
