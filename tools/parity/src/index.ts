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
