import { keepServingTls, type KeptServingTls, type ServingFiles } from "@istiod/ca";
import type { Logger } from "pino";
import type { RunningAuthority } from "./authority.js";
import type { FlagValues } from "./flags.js";

/**
 * Keeps the certificate that istiod serves with, and the roots by which it verifies clients: those that the flags name,
 * or those of its own authority.
 *
 * @throws Error where a file cannot be used, or no certificate is issued.
 */
export async function servingTls(
  values: FlagValues,
  { authority, names }: RunningAuthority,
  log: Logger,
): Promise<KeptServingTls> {
  const files = servingFiles(values);
  try {
    return await keepServingTls({
      authority,
      names,
      ...(files !== undefined && { files }),
      ...(values.caCertFile !== "" && { rootsFile: values.caCertFile }),
      onReload: (reloaded) => log.info({ files: reloaded }, `reloaded ${reloaded.join(" and ")}`),
      onError: (error) =>
        log.error({ err: error }, `TLS certificates not renewed, keeping the last good ones: ${error.message}`),
    });
  } catch (error) {
    throw new Error(`--secureGRPCAddr ${values.secureGRPCAddr}: ${(error as Error).message}`, { cause: error });
  }
}

function servingFiles({ tlsCertFile, tlsKeyFile }: FlagValues): ServingFiles | undefined {
  if (tlsCertFile === "" && tlsKeyFile === "") return undefined;
  if (tlsCertFile === "" || tlsKeyFile === "")
    throw new Error(
      `--${tlsCertFile === "" ? "tlsCertFile" : "tlsKeyFile"} is missing: --tlsCertFile and --tlsKeyFile belong together`,
    );
  return { certFile: tlsCertFile, keyFile: tlsKeyFile };
}
