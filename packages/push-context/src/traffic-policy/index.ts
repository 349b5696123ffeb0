export type { ConsolidatedRule } from "./consolidated-rule.js";
export {
  type Destination,
  destinationRuleFor,
  hostsWithRepeatedSubsets,
  inboundDestinationRuleFor,
  type PolicyTarget,
  subsetsOf,
  trafficPolicyFor,
} from "./destination-rule.js";
export { overlayPolicy, policyOfPort, policyOfSubset, subsetNamed, withMeshDefaults } from "./effective-policy.js";
export { isWildcard, patternsCovering } from "./host-pattern.js";
export { effectiveLocalitySetting, type LocalitySetting } from "./locality-setting.js";
