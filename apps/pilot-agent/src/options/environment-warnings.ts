import {
  agentVariablePrefixes,
  agentVariables,
  discoveryVariables,
  type Environment,
  environmentReport,
  environmentWarnings,
  variablesOf,
} from "@istiod/settings";
import { captureTable, ignoredCaptureFlags } from "./capture-table.js";
import { allOptions } from "./table.js";

/** Returns a warning for the environment variables that `pilot-agent proxy` ignores, and for each misspelled one. */
export function proxyEnvironmentWarnings(env: Environment): readonly string[] {
  return environmentWarnings(
    environmentReport({
      env,
      read: variablesOf(allOptions),
      istio: agentVariables,
      elsewhere: [...discoveryVariables, ...variablesOf(captureTable), ...variablesOf(ignoredCaptureFlags)],
      readPrefixes: agentVariablePrefixes,
    }),
  );
}
