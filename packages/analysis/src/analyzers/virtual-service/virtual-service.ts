import type { Analyzer } from "../../analyzer.js";
import { destinationHostAnalyzer } from "./destination-host.js";
import { subsetAnalyzer } from "./destination-rule.js";

/** Analyzers of VirtualServices. */
export const virtualServiceAnalyzers: readonly Analyzer[] = [destinationHostAnalyzer, subsetAnalyzer];
