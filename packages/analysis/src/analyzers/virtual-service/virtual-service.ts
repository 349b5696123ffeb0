import type { Analyzer } from "../../analyzer.js";
import { conflictingHostsAnalyzer } from "./conflicting-hosts.js";
import { destinationHostAnalyzer } from "./destination-host.js";
import { subsetAnalyzer } from "./destination-rule.js";
import { gatewayAnalyzer } from "./gateways.js";
import { jwtClaimRouteAnalyzer } from "./jwt-claim-route.js";

/** Analyzers of VirtualServices. */
export const virtualServiceAnalyzers: readonly Analyzer[] = [
  conflictingHostsAnalyzer,
  destinationHostAnalyzer,
  subsetAnalyzer,
  gatewayAnalyzer,
  jwtClaimRouteAnalyzer,
];
