import { AgentError } from "../errors.js";
import type { Option } from "./option.js";
import { allOptions, type Options } from "./table.js";

/**
 * The value of every setting: the flag, else the environment variable, else the default. An empty variable counts as
 * unset.
 *
 * @throws AgentError `option` naming the flag or variable
 */
export function readOptions(
  flags: Readonly<Record<string, string | undefined>>,
  env: Readonly<Record<string, string | undefined>>,
): Options {
  const values = Object.entries<Option<unknown>>(allOptions).map(([property, option]) => [
    property,
    valueOf(option, flags, env),
  ]);
  const options = Object.fromEntries(values) as Options;
  check(options);
  return options;
}

/** One setting: the flag, else the environment variable, else the default. @throws AgentError `option` */
export function valueOf(
  option: Option<unknown>,
  flags: Readonly<Record<string, string | undefined>>,
  env: Readonly<Record<string, string | undefined>>,
): unknown {
  const given =
    (option.flag === undefined ? undefined : flags[option.flag]) ??
    (option.env === undefined ? undefined : env[option.env] || undefined);
  return given === undefined ? option.default : option.read(given);
}

function check(options: Options): void {
  const refuse = (message: string): never => {
    throw new AgentError("option", message);
  };
  if (options.provCert !== "" && options.fileMountedCerts)
    refuse("PROV_CERT and FILE_MOUNTED_CERTS exclude each other");
  if (/[/\\]/.test(options.workloadIdentitySocket))
    refuse(
      `WORKLOAD_IDENTITY_SOCKET_FILE: ${JSON.stringify(options.workloadIdentitySocket)} is a path; a file name is expected`,
    );
  if (options.caProvider !== "Citadel")
    refuse(`CA_PROVIDER: ${JSON.stringify(options.caProvider)} is not supported; expected Citadel`);
  if (!["", "ECDSA"].includes(options.eccAlgorithm))
    refuse(`ECC_SIGNATURE_ALGORITHM: ${JSON.stringify(options.eccAlgorithm)} is not supported; expected ECDSA`);
  if (!["P256", "P384"].includes(options.eccCurve))
    refuse(`ECC_CURVE: ${JSON.stringify(options.eccCurve)} is not supported; expected P256 or P384`);
  if (!["", "fips-140-2", "fips-140-3"].includes(options.compliancePolicy))
    refuse(
      `COMPLIANCE_POLICY: ${JSON.stringify(options.compliancePolicy)} is not supported; expected fips-140-2 or fips-140-3`,
    );
  if (options.rsaKeySize < 2048) refuse(`WORKLOAD_RSA_KEY_SIZE: ${options.rsaKeySize} is less than 2048`);
}
