export { findLibrary, type Library, libraryNames } from "./libraries.js";
export { type LibraryOutcomes, type Outcome, runScenarios } from "./run-matrix.js";
export { type Scenario, scenarios } from "./scenarios.js";
