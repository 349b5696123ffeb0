export { generate, load } from "./generate.js";
export { matchesGlob } from "./glob.js";
export { parityOf, type Parity } from "./parity.js";
export { findScenarios, types, type Scenario, type Type } from "./scenario.js";
