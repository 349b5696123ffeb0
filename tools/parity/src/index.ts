export { both, type Cause, omit, type Pair } from "./comparison/cause.js";
export { explainDifferences } from "./comparison/explain-differences.js";
export { ComparisonReport } from "./comparison/report.js";
export { normalActual } from "./compare.js";
export { databaseOf, type DatabaseOptions, generate, load, resourcesOf, typeUrls } from "./generate.js";
export { goldenProxies, loadSampleForGolden } from "./golden/golden-files.js";
export { matchesGlob } from "./glob.js";
export { unsupportedFeature } from "./unsupported-feature.js";
export { parityOf, type Parity } from "./parity.js";
export {
  findScenarios,
  type Json,
  type JsonObject,
  type Scenario,
  type ScenarioProxy,
  type Type,
  types,
} from "./scenario.js";
export { share, sum, table, type Row } from "./table.js";
export { envoyFilters as randomEnvoyFilters } from "./random/envoy-filters.js";
