import type { Analyzer } from "./analyzer.js";
import { annotationAnalyzers } from "./analyzers/annotations/annotations.js";
import { injectionAnalyzers } from "./analyzers/injection/injection.js";
import { meshAnalyzers } from "./analyzers/mesh/index.js";
import { schemaAnalyzers } from "./analyzers/schema.js";
import { serviceAnalyzers } from "./analyzers/service.js";

/** Every analyzer, in the order in which findings about one object are reported. */
export const analyzers: readonly Analyzer[] = [...annotationAnalyzers, ...injectionAnalyzers, ...serviceAnalyzers, ...meshAnalyzers, ...schemaAnalyzers];
