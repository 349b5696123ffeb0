export { Closers } from "./closers.js";
export {
  didYouMean,
  type EnvironmentReport,
  environmentReport,
  type EnvironmentReportOptions,
  environmentWarnings,
} from "./environment-report.js";
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
