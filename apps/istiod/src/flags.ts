import { type Environment, readSettings, type SettingValues } from "@istiod/settings";
import { certificateFlags } from "./flags/certificate-flags.js";
import { configFileFlags } from "./flags/config-file-flags.js";
import { kubernetesFlags } from "./flags/kubernetes-flags.js";
import { loggingFlags } from "@istiod/logging";
import { meshFlags } from "@istiod/commands";
import { servingFlags } from "./flags/serving-flags.js";

/** The flags of `istiod discovery`, by the groups of the reference. */
export const flagGroups = {
  Mesh: { ...meshFlags, ...configFileFlags },
  Servers: servingFlags,
  Certificates: certificateFlags,
  Kubernetes: kubernetesFlags,
  Logging: loggingFlags,
} as const;

/**
 * The flags of `istiod discovery` with the names and defaults of Istio's `pilot-discovery discovery`, and extensions
 * where marked.
 */
export const flags = {
  ...meshFlags,
  ...configFileFlags,
  ...servingFlags,
  ...certificateFlags,
  ...kubernetesFlags,
  ...loggingFlags,
} as const;

/** The values of the flags. Durations are milliseconds. */
export type FlagValues = SettingValues<typeof flags>;

/** Returns the defaults of all flags, for programs that embed istiod. @throws SettingError for an invalid variable */
export function flagDefaults(env: Environment): FlagValues {
  return readSettings(flags, env);
}
