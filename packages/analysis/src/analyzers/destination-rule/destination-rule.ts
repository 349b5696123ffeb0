import type { Analyzer } from "../../analyzer.js";
import { caCertificateAnalyzer } from "./ca-certificates.js";
import { credentialAnalyzer } from "./credentials.js";
import { identityAnalyzer } from "./identities.js";
import { subsetSelectorAnalyzer } from "./subsets.js";

/** Analyzers of DestinationRules. */
export const destinationRuleAnalyzers: readonly Analyzer[] = [
  caCertificateAnalyzer,
  credentialAnalyzer,
  identityAnalyzer,
  subsetSelectorAnalyzer,
];
