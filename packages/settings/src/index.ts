export { Closers } from "./closers.js";
export { type Clock, systemClock } from "./clock.js";
export {
  didYouMean,
  type EnvironmentReport,
  environmentReport,
  type EnvironmentReportOptions,
  environmentWarnings,
} from "./environment-report.js";
export { parseGoDuration, protobufDuration } from "./go-duration.js";
export { agentVariablePrefixes, agentVariables, discoveryVariables } from "./istio-variables.js";
export { listenError, type ListenTarget } from "./listen-error.js";
export { nearestNames } from "./nearest-names.js";
export {
  booleanVariable,
  type Environment,
  integerVariable,
  listVariable,
  parseBoolean,
  SettingError,
  textVariable,
  type Variable,
  variable,
} from "./variable.js";
