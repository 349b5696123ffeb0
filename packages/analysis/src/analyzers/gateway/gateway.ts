import type { Analyzer } from "../../analyzer.js";
import { duplicateCertificateAnalyzer } from "./certificates.js";
import { conflictingGatewayAnalyzer } from "./conflicts.js";
import { gatewayPortAnalyzer } from "./ports.js";
import { ingressSecretAnalyzer } from "./ingress-secrets.js";
import { gatewaySecretAnalyzer } from "./secrets.js";

/** Analyzers of Gateways. */
export const gatewayAnalyzers: readonly Analyzer[] = [
  gatewayPortAnalyzer,
  duplicateCertificateAnalyzer,
  gatewaySecretAnalyzer,
  ingressSecretAnalyzer,
  conflictingGatewayAnalyzer,
];
