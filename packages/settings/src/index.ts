export { Closers } from "./closers.js";
export { type Clock, type ClockOptions, createClock, monotonicClock, systemClock } from "./clock.js";
export { logLevelAnnotations, logLevelFault } from "./envoy/log-level.js";
export {
  readHistogramBuckets,
  statsAnnotationFaults,
  statsAnnotations,
  statsNameFault,
  statsRegexFault,
  statsTagFault,
} from "./envoy/stats.js";
export { FairQueue, type FairQueueOptions } from "./fair-queue.js";
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
export { listenBacklog } from "./listen-backlog.js";
export { listenError, type ListenTarget } from "./listen-error.js";
export { nearestNames } from "./nearest-names.js";
export { maxOpenFiles, openFilesIn } from "./open-files.js";
export { type Pause, pauseEvery } from "./pauses.js";
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
export { UnreadBytes, type UnreadLimits } from "./unread-bytes.js";
