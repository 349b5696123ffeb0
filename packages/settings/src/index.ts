export { agentLogLevelAnnotation, agentLogLevelFault } from "./agent-log-level.js";
export { logLevelAnnotations, logLevelFault } from "./envoy/log-level.js";
export { unknownUnicodeClass } from "./envoy/regex-classes.js";
export {
  readHistogramBuckets,
  statsAnnotationFaults,
  statsAnnotations,
  statsNameFault,
  statsRegexFault,
  statsTagFault,
} from "./envoy/stats.js";
export {
  complianceLimits,
  type ComplianceLimits,
  compliancePolicies,
  type CompliancePolicy,
  fipsCipherSuites,
} from "./compliance.js";
export {
  didYouMean,
  type EnvironmentReport,
  environmentReport,
  type EnvironmentReportOptions,
  environmentWarnings,
} from "./environment-report.js";
export { type FlagArguments, type FlagSyntax, splitFlagArguments } from "./flag-arguments.js";
export { parseGoBoolean } from "./go-boolean.js";
export {
  formatDurationMs,
  formatGoDuration,
  type GoDurationFault,
  goDurationText,
  parseDurationMs,
  parseGoDuration,
  protobufDuration,
  readGoDuration,
} from "./go-duration.js";
export { agentVariablePrefixes, agentVariables, discoveryVariables } from "./istio-variables.js";
export { listenError, type ListenTarget } from "./listen-error.js";
export { nearestNames } from "./nearest-names.js";
export { describeSetting, helpOfVariables, settingsReference } from "./reference.js";
export {
  booleanSetting,
  durationSetting,
  enumSetting,
  integerSetting,
  listSetting,
  mapSetting,
  numberSetting,
  type Range,
  stringArraySetting,
  stringSetting,
} from "./setting-types.js";
export {
  defineSetting,
  type Environment,
  type GivenFlags,
  ignoredFlagWarnings,
  invalidSetting,
  readSettings,
  type Setting,
  SettingError,
  type SettingOptions,
  type SettingSyntax,
  type SettingTable,
  type SettingType,
  type SettingValues,
  variablesOf,
} from "./setting.js";
