export { type Decision, type DecisionReason, decideInjection, type InjectionPolicy } from "./decide-injection.js";
export { type LabelSelector, selectorMatches } from "./label-selector.js";
export { InjectorError, type InjectorErrorCode } from "./errors.js";
export type { Container, LifecycleHandler, Pod, Probe } from "./pod.js";
export { type AppProber, rewriteProbes, type RewrittenProbes } from "./rewrite-probes.js";
