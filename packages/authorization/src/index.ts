export { check, type Check, type CheckOptions, type Decision, type MutualTlsVerdict } from "./check.js";
export { formatChecks } from "./format.js";
export { AuthorizationQuestionError, type Question } from "./question.js";
export type { Access, HttpAttributes } from "./evaluation/access.js";
export {
  type DecidingRule,
  evaluatePolicies,
  type PoliciesVerdict,
  type PolicyAction,
  type PolicyDecision,
  type PolicyOptions,
  type PolicyVerdict,
  type ProviderEffect,
  ruleName,
} from "./evaluation/policies.js";
export type { ConditionVerdict, RuleVerdict } from "./evaluation/rule.js";
export { normalizePath, type NormalizedPath, type PathNormalization } from "./request/path-normalization.js";
export { type KeyedRule, type TokenVerdict, verifyToken } from "./request/token.js";
export { type OtherPolicy, type WorkloadPolicies, workloadPolicies } from "./workload-policies.js";
