import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";

/**
 * Returns the roots that `caCertificates` of a mesh configuration has for a signer, in PEM, in order: the entries whose
 * `certSigners` name it. Undefined if there are none. Source: `GetRootCertFromMeshConfig` in security/pkg/pki/ra.
 */
export function rootsOfSigner(
  { caCertificates }: Pick<MeshConfig, "caCertificates">,
  signer: string,
): string | undefined {
  const pems = caCertificates.flatMap(({ certSigners, certificateData: { case: kind, value } }) =>
    kind === "pem" && value !== "" && certSigners.includes(signer) ? [value.trim()] : [],
  );
  return pems.length === 0 ? undefined : `${pems.join("\n")}\n`;
}

/** Returns the names of the signers that have roots in a mesh configuration. */
export function signersWithRoots({ caCertificates }: Pick<MeshConfig, "caCertificates">): ReadonlySet<string> {
  return new Set(caCertificates.flatMap(({ certSigners }) => certSigners));
}
