import type { SecureContextOptions } from "node:tls";
import {
  keepServingTls,
  type KeptServingTls,
  type RootsFile,
  type ServingFiles,
  type ServingTls,
  type TrustSource,
} from "@istiod/ca";
import type { Logger } from "pino";
import type { RunningAuthority } from "./authority.js";
import type { FlagValues } from "./flags.js";
import { warnOfExposedKeys } from "./key-permissions.js";
import type { TlsLimits } from "./tls-limits.js";

/**
 * Keeps istiod's serving certificate and the roots that verify its clients: those of its own authority, and those of
 * --caCertFile for the trust domain in --caCertTrustDomain.
 *
 * @param clientAuthority an external authority that signs certificates of clients
 * @throws Error if a file is invalid, or no certificate can be issued
 */
export async function servingTls(
  values: FlagValues,
  { authority, trustDomain, names }: RunningAuthority,
  log: Logger,
  clientAuthority?: TrustSource,
): Promise<KeptServingTls> {
  const files = servingFiles(values);
  if (files !== undefined) await warnOfExposedKeys([files.keyFile], log);
  const roots = clientRoots(values, trustDomain, log);
  try {
    return await keepServingTls({
      authority,
      trustDomain,
      names,
      ...(files !== undefined && { files }),
      ...(roots !== undefined && { roots }),
      ...(clientAuthority !== undefined && { clientAuthority }),
      onReload: (reloaded) => log.info({ files: reloaded }, `reloaded ${reloaded.join(" and ")}`),
      onError: (error) =>
        log.error({ err: error }, `TLS certificates not renewed, keeping the last good ones: ${error.message}`),
    });
  } catch (error) {
    const served = values.secureGRPCAddr === "" ? "httpsAddr" : "secureGRPCAddr";
    throw new Error(`--${served} ${values[served]}: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns the options of a server with the serving certificate that requests no client certificates. */
export function secureContext(
  { cert, key, fallback }: ServingTls,
  { curves, ...limits }: TlsLimits,
): SecureContextOptions {
  return {
    cert: fallback === undefined ? cert : [cert, fallback.cert],
    key: fallback === undefined ? key : [key, fallback.key],
    minVersion: "TLSv1.2",
    ...limits,
    ...(curves !== undefined && { ecdhCurve: curves }),
  };
}

/**
 * Returns the file of --caCertFile with the trust domain of its roots. Roots without a trust domain verify nobody:
 * otherwise their CA could issue every identity of the mesh, including istiod's own.
 */
function clientRoots(
  { caCertFile, caCertTrustDomain }: FlagValues,
  trustDomain: string,
  log: Logger,
): RootsFile | undefined {
  if (caCertFile === "") {
    if (caCertTrustDomain !== "")
      throw new Error(`--caCertTrustDomain ${caCertTrustDomain}: --caCertFile is missing, they belong together`);
    return undefined;
  }
  if (caCertTrustDomain === "") {
    log.warn(
      { file: caCertFile },
      `--caCertFile ${caCertFile}: its roots belong to no trust domain, so certificates of its CA are rejected; set --caCertTrustDomain to ${trustDomain} if the CA may issue every identity of this mesh`,
    );
    return undefined;
  }
  if (caCertTrustDomain !== trustDomain)
    log.warn(
      { file: caCertFile },
      `--caCertTrustDomain ${caCertTrustDomain} is not the trust domain of this mesh (${trustDomain}), whose identities alone are authorized`,
    );
  return { file: caCertFile, trustDomain: caCertTrustDomain };
}

function servingFiles({ tlsCertFile, tlsKeyFile }: FlagValues): ServingFiles | undefined {
  if (tlsCertFile === "" && tlsKeyFile === "") return undefined;
  if (tlsCertFile === "" || tlsKeyFile === "")
    throw new Error(
      `--${tlsCertFile === "" ? "tlsCertFile" : "tlsKeyFile"} is missing: --tlsCertFile and --tlsKeyFile belong together`,
    );
  return { certFile: tlsCertFile, keyFile: tlsKeyFile };
}
