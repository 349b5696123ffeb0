import { type Environment, type GivenFlags, invalidSetting, readSettings, SettingError } from "@istiod/settings";
import { allOptions, type Options } from "./table.js";

/**
 * Returns the values of all settings of `pilot-agent proxy`: the flag's, else the variable's, else the default.
 *
 * @throws SettingError naming the invalid flag or variable
 */
export function readOptions(given: GivenFlags, env: Environment): Options {
  const options = readSettings(allOptions, env, given);
  checkOptions(options);
  return options;
}

/** Checks the settings that depend on each other. @throws SettingError */
export function checkOptions({ provCert, fileMountedCerts, certProvider, workloadIdentitySocket }: Options): void {
  if (provCert !== "" && fileMountedCerts)
    throw new SettingError("PROV_CERT and FILE_MOUNTED_CERTS exclude each other");
  if (!/^(?:istiod|custom|none|k8s\.io\/.+)$/.test(certProvider))
    throw invalidSetting("PILOT_CERT_PROVIDER", certProvider, "one of istiod, custom, none, k8s.io/<signer>");
  if (/[/\\]/.test(workloadIdentitySocket))
    throw new SettingError(
      `invalid value ${JSON.stringify(workloadIdentitySocket)} for WORKLOAD_IDENTITY_SOCKET_FILE: expected a file name without a directory`,
    );
}
