import {
  agentVariables,
  discoveryVariables,
  environmentReport,
  environmentWarnings,
  type Environment,
  type GivenFlags,
  ignoredFlagWarnings,
} from "@istiod/settings";
import { flags } from "./flags.js";
import { readVariables } from "./variables.js";

/** Returns a warning for each flag of the command line and each variable of the environment that is ignored. */
export function startupWarnings(given: GivenFlags, env: Environment): readonly string[] {
  const report = environmentReport({
    env,
    read: readVariables,
    istio: discoveryVariables,
    elsewhere: agentVariables,
    readPrefixes: ["ISTIO_META"],
  });
  return [...ignoredFlagWarnings(flags, given), ...environmentWarnings(report)];
}
