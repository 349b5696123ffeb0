import type { Analyzer } from "./analyzer.js";
import { meshAnalyzers } from "./analyzers/mesh/index.js";
import { serviceAnalyzers } from "./analyzers/service.js";

/** Every analyzer, in the order in which findings about one object are reported. */
export const analyzers: readonly Analyzer[] = [...serviceAnalyzers, ...meshAnalyzers];
