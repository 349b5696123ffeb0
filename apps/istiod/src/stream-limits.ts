import type { LimitsByAuthentication } from "@istiod/xds-server";
import { variables } from "./variables.js";

/**
 * Returns the limits of xDS streams from the environment.
 *
 * @throws SettingError naming an invalid variable
 */
export function streamLimits(env: NodeJS.ProcessEnv): LimitsByAuthentication {
  const types = variables.maxTypes.read(env);
  const names = variables.maxNames.read(env);
  return {
    authenticated: {
      types,
      names,
      unmatchedBytes: variables.maxUnmatchedBytes.read(env),
      totalUnmatchedBytes: variables.totalUnmatchedBytes.read(env),
    },
    unauthenticated: {
      types,
      names,
      unmatchedBytes: variables.maxUnauthenticatedUnmatchedBytes.read(env),
      totalUnmatchedBytes: variables.totalUnauthenticatedUnmatchedBytes.read(env),
    },
  };
}
