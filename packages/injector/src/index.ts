export { type Decision, type DecisionReason, decideInjection, type InjectionPolicy } from "./decision/decide.js";
export { type LabelSelector, selectorMatches } from "./decision/label-selector.js";
export { InjectorError, type InjectorErrorCode } from "./errors.js";
export type { Container, LifecycleHandler, Pod, Probe } from "./pod.js";
export { type AppProber, takeOverProbes, type TakenOverProbes } from "./probes/take-over.js";
