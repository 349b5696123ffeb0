import { booleanSetting, integerSetting, stringArraySetting, stringSetting } from "@istiod/settings";

/** The flags of Istio's logging, and of ControlZ, which changes log levels at runtime. */
export const loggingFlags = {
  log_output_level: stringSetting({
    flag: "log_output_level",
    placeholder: "levels",
    default: "info",
    help: "minimum level of log lines: a level, or scope:level,…; levels are none, fatal, error, warn, info and debug",
  }),
  log_stacktrace_level: stringSetting({
    flag: "log_stacktrace_level",
    placeholder: "levels",
    default: "none",
    help: "minimum level of log lines with a stack trace, in the same form",
  }),
  log_caller: stringSetting({
    flag: "log_caller",
    placeholder: "scopes",
    default: "",
    help: "log scopes with caller information, separated by commas; all for every scope",
  }),
  log_as_json: booleanSetting({
    flag: "log_as_json",
    default: true,
    help: "write log lines as JSON instead of columns",
  }),
  log_target: stringArraySetting({
    flag: "log_target",
    placeholder: "path",
    default: ["stdout"],
    help: "output of the log: stdout, stderr or a file; repeatable",
  }),
  ctrlz_address: stringSetting({
    flag: "ctrlz_address",
    placeholder: "host",
    default: "localhost",
    help: "address of ControlZ, which accepts requests from this machine only",
  }),
  ctrlz_port: integerSetting(
    { flag: "ctrlz_port", placeholder: "port", default: 9876, help: "port of ControlZ; 0 for any free port" },
    { min: 0, max: 65535 },
  ),
} as const;
