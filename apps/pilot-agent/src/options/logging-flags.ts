import { booleanSetting, stringSetting } from "@istiod/settings";

/** Logging flags of Istio that `proxy` and `istio-iptables` read. */
export const loggingFlags = {
  logLevel: stringSetting({
    flag: "log_output_level",
    placeholder: "level",
    default: "info",
    help: "log level of the agent: debug, info, warn, error, fatal or none, also as default:info",
  }),
  logAsJson: booleanSetting({
    flag: "log_as_json",
    default: false,
    help: "write logs as JSON, those of Envoy too",
  }),
} as const;

const ignored = "the agent writes one log, to standard error";

/** Logging flags of Istio that are accepted for compatibility. */
export const ignoredLoggingFlags = {
  log_target: stringSetting({ flag: "log_target", default: "", help: "output of the log", ignored }),
  log_stacktrace_level: stringSetting({
    flag: "log_stacktrace_level",
    default: "",
    help: "minimum level of log lines with a stack trace",
    ignored,
  }),
  log_caller: stringSetting({
    flag: "log_caller",
    default: "",
    help: "log scopes with caller information",
    ignored,
  }),
} as const;
