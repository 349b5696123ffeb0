import { statSync } from "node:fs";
import { join } from "node:path";
import type { RootsFile, ServingFiles } from "@istiod/ca";
import type { Logger } from "pino";
import type { FlagValues } from "./flags.js";

/** The files of a serving certificate that is issued elsewhere, and of roots. */
export interface ServingPlaces {
  /** Undefined: istiod's CA issues the certificate. */
  readonly files: ServingFiles | undefined;
  /** File of the roots that verify the certificate in `files`. Undefined: they are not known. */
  readonly servingRoots: string | undefined;
  /** File of roots that verify clients in addition to those of istiod's CA. */
  readonly clientRoots: RootsFile | undefined;
}

/** Directory of the certificates of cert-manager's istio-csr, as in Istio: pkg/config/constants. */
const wellKnownDirectory = "./var/run/secrets/istiod";

/**
 * Returns the files of the flags, otherwise those of istio-csr in their well-known places, if they exist when istiod
 * starts. The roots there prove the identities of the mesh, as in Istio: istio-csr issues them.
 *
 * @throws Error if a flag lacks one that belongs to it
 */
export function servingPlaces(
  values: FlagValues,
  trustDomain: string,
  log: Logger,
  directory = wellKnownDirectory,
): ServingPlaces {
  const clientRoots = clientRootsOf(values, trustDomain, log);
  const files = filesOfFlags(values);
  if (files !== undefined) return { files, servingRoots: values.caCertFile || undefined, clientRoots };
  const found = wellKnownFiles(directory);
  if (found === undefined) return { files: undefined, servingRoots: undefined, clientRoots };
  log.info({ ...found }, `serving the certificate in ${directory}`);
  const { roots, ...wellKnown } = found;
  return { files: wellKnown, servingRoots: roots, clientRoots: clientRoots ?? { file: roots, trustDomain } };
}

function wellKnownFiles(directory: string): (ServingFiles & { readonly roots: string }) | undefined {
  const [certFile, keyFile] = [join(directory, "tls/tls.crt"), join(directory, "tls/tls.key")];
  const roots = [join(directory, "ca/root-cert.pem"), join(directory, "tls/ca.crt")].find(isFile);
  return roots !== undefined && isFile(certFile) && isFile(keyFile) ? { certFile, keyFile, roots } : undefined;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/**
 * Returns the file of --caCertFile with the trust domain of its roots. Roots without a trust domain verify nobody:
 * otherwise their CA could issue every identity of the mesh, including istiod's own.
 */
function clientRootsOf(
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

function filesOfFlags({ tlsCertFile, tlsKeyFile }: FlagValues): ServingFiles | undefined {
  if (tlsCertFile === "" && tlsKeyFile === "") return undefined;
  if (tlsCertFile === "" || tlsKeyFile === "")
    throw new Error(
      `--${tlsCertFile === "" ? "tlsCertFile" : "tlsKeyFile"} is missing: --tlsCertFile and --tlsKeyFile belong together`,
    );
  return { certFile: tlsCertFile, keyFile: tlsKeyFile };
}
