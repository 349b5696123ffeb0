import type { Analyzer } from "../../analyzer.js";
import { crossNamespaceAnalyzer } from "./cross-namespace.js";
import { destinationRuleAnalyzer } from "./destination-rules.js";
import { exportAnalyzer } from "./export-to.js";
import { gatewayAnalyzer } from "./gateways.js";
import { grpcLimitAnalyzer } from "./grpc-limits.js";
import { hiddenServiceAnalyzer } from "./hidden-services.js";
import { hostAnalyzer } from "./hosts.js";
import { httpSettingsAnalyzer } from "./http-settings.js";
import { ingressAnalyzer } from "./ingresses.js";
import { injectionLabelAnalyzer } from "./injection-labels.js";
import { keySetAnalyzer } from "./key-sets.js";
import { namespaceAnalyzer } from "./namespaces.js";
import { absentClusterAnalyzer } from "./absent-clusters.js";
import { peerAuthenticationAnalyzer } from "./peer-authentications.js";
import { peerPortAnalyzer } from "./peer-ports.js";
import { revisionAnalyzer } from "./revisions.js";
import { serviceEntryAnalyzer } from "./service-entries.js";
import { sourceAnalyzer } from "./sources.js";
import { lostPortAnalyzer } from "./lost-ports.js";
import { ambientLabelAnalyzer } from "./ambient-labels.js";
import { authorizationAnalyzer } from "./policies.js";
import { meshConfigReferenceAnalyzer } from "./mesh-config-references.js";
import { remoteSecretAnalyzer } from "./remote-secrets.js";
import { networkGatewayAnalyzer } from "./network-gateways.js";
import { policySourceAnalyzer } from "./policy-sources.js";
import { portAnalyzer } from "./ports.js";
import { providerAnalyzer } from "./providers.js";
import { routeAnalyzer } from "./routes.js";
import { routeProtocolAnalyzer } from "./route-protocols.js";
import { selectorAnalyzer } from "./selectors.js";
import { undetectedHttpAnalyzer } from "./undetected-http.js";
import { tcpRuleAnalyzer } from "./tcp-rules.js";
import { tokenAnalyzer } from "./tokens.js";
import { unsupportedFieldAnalyzer } from "./unsupported-fields.js";
import { unsupportedByProxiesAnalyzer } from "./unsupported-by-proxies.js";
import { withoutEffectAnalyzer } from "./without-effect.js";

/** Analyzers for problems that Istio's analysis does not check. They report codes `MESH…`. */
export const meshAnalyzers: readonly Analyzer[] = [
  absentClusterAnalyzer,
  ambientLabelAnalyzer,
  authorizationAnalyzer,
  crossNamespaceAnalyzer,
  destinationRuleAnalyzer,
  exportAnalyzer,
  gatewayAnalyzer,
  grpcLimitAnalyzer,
  hiddenServiceAnalyzer,
  hostAnalyzer,
  httpSettingsAnalyzer,
  ingressAnalyzer,
  injectionLabelAnalyzer,
  keySetAnalyzer,
  lostPortAnalyzer,
  meshConfigReferenceAnalyzer,
  namespaceAnalyzer,
  networkGatewayAnalyzer,
  peerAuthenticationAnalyzer,
  peerPortAnalyzer,
  policySourceAnalyzer,
  portAnalyzer,
  providerAnalyzer,
  remoteSecretAnalyzer,
  revisionAnalyzer,
  routeAnalyzer,
  routeProtocolAnalyzer,
  selectorAnalyzer,
  serviceEntryAnalyzer,
  sourceAnalyzer,
  undetectedHttpAnalyzer,
  tcpRuleAnalyzer,
  tokenAnalyzer,
  unsupportedByProxiesAnalyzer,
  unsupportedFieldAnalyzer,
  withoutEffectAnalyzer,
];
