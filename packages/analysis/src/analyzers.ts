import type { Analyzer } from "./analyzer.js";
import { annotationAnalyzers } from "./analyzers/annotations/annotations.js";
import { deploymentAnalyzers } from "./analyzers/deployment/deployment.js";
import { injectionAnalyzers } from "./analyzers/injection/injection.js";
import { meshAnalyzers } from "./analyzers/mesh/index.js";
import { schemaAnalyzers } from "./analyzers/schema.js";
import { serviceAnalyzers } from "./analyzers/service.js";
import { webhookAnalyzers } from "./analyzers/webhooks/webhooks.js";

/** Every analyzer, in the order in which findings about one object are reported. */
export const analyzers: readonly Analyzer[] = [
  ...annotationAnalyzers,
  ...deploymentAnalyzers,
  ...injectionAnalyzers,
  ...serviceAnalyzers,
  ...webhookAnalyzers,
  ...meshAnalyzers,
  ...schemaAnalyzers,
];
