import {
  agentVariables,
  discoveryVariables,
  environmentReport,
  environmentWarnings,
  type Environment,
} from "@istiod/settings";
import { type FlagValues, ineffectiveFlags } from "./flags.js";
import { unservedProtectionNames } from "./unserved-protections.js";
import { readVariables } from "./variables.js";

/**
 * Returns what of the command line and the environment has no effect, a sentence each.
 *
 * @param given whether the command line has a flag
 */
export function startupWarnings(
  values: FlagValues,
  given: (property: string) => boolean,
  env: Environment,
): readonly string[] {
  const report = environmentReport({
    env,
    read: [...readVariables, ...unservedProtectionNames],
    istio: discoveryVariables,
    elsewhere: agentVariables,
    readPrefixes: ["ISTIO_META"],
  });
  return [...ineffectiveFlags(values, given), ...environmentWarnings(report)];
}
