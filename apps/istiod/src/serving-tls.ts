import type { SecureContextOptions } from "node:tls";
import { keepServingTls, type KeptServingTls, type ServingTls, type TrustSource } from "@istiod/ca";
import type { Logger } from "pino";
import type { RunningAuthority } from "./authority.js";
import type { FlagValues } from "./flags.js";
import { warnOfExposedKeys } from "./key-permissions.js";
import type { ServingPlaces } from "./serving-places.js";
import type { TlsLimits } from "./tls-limits.js";

export interface ServingTlsInputs extends Pick<ServingPlaces, "files" | "clientRoots"> {
  /** Absent: the certificate is in files. */
  readonly authority: RunningAuthority["authority"] | undefined;
  readonly trustDomain: string;
  /** Names in a certificate that the authority issues. */
  readonly names: readonly string[];
  /** An external authority that signs certificates of clients. */
  readonly clientAuthority: TrustSource | undefined;
}

/**
 * Keeps istiod's serving certificate and the roots that verify its clients: those of its own authority, of an external
 * one, and those of a file.
 *
 * @throws Error if a file is invalid, or no certificate can be issued
 */
export async function servingTls(
  values: FlagValues,
  { authority, trustDomain, names, files, clientRoots: roots, clientAuthority }: ServingTlsInputs,
  log: Logger,
): Promise<KeptServingTls> {
  if (files !== undefined) await warnOfExposedKeys([files.keyFile], log);
  try {
    return await keepServingTls({
      ...(authority !== undefined && { authority }),
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
