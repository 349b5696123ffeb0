import { type AddressRange, parseAddressRange } from "@istiod/jwks";
import { reasonOf } from "@istiod/runtime";
import { type Environment, SettingError } from "@istiod/settings";
import { variables } from "../variables.js";

/** Settings of the fetches of keys. */
export interface JwksSettings {
  /** Milliseconds. */
  readonly refreshIntervalMs: number;
  readonly blockedRanges: readonly AddressRange[];
  readonly insecureSkipVerify: boolean;
  /** File of the trusted roots; undefined for the system's. */
  readonly rootsFile?: string;
}

/**
 * Reads the settings of the fetches of keys.
 *
 * @throws SettingError for a range that is none, which would leave open what is meant to be closed
 */
export function jwksSettings(env: Environment): JwksSettings {
  const refreshIntervalMs = variables.jwksRefreshInterval.read(env);
  if (refreshIntervalMs === 0)
    throw new SettingError("PILOT_JWT_PUB_KEY_REFRESH_INTERVAL: must be more than 0s, such as 20m");
  const rootsFile = variables.rootsFile.read(env);
  return {
    refreshIntervalMs,
    blockedRanges: variables.jwksBlockedRanges.read(env).map(blockedRange),
    insecureSkipVerify: variables.jwksInsecureSkipVerify.read(env),
    ...(rootsFile !== "" && { rootsFile }),
  };
}

function blockedRange(text: string): AddressRange {
  try {
    return parseAddressRange(text);
  } catch (error) {
    throw new SettingError(`BLOCKED_CIDRS_IN_JWKS_URIS: ${reasonOf(error)}`);
  }
}
