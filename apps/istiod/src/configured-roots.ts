import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { MeshConfig_CertificateData } from "@istiod/istio-api/mesh/v1alpha1/config";
import { bundleEndpointUrl } from "@istiod/jwks";
import type { Proxy } from "@istiod/push-context";
import { isCaCertificate } from "@istiod/xds-generators";
import type { Logger } from "pino";
import { followMeshConfig } from "./follow-mesh-config.js";

/** The uses of roots in `caCertificates` of the mesh configuration. */
export interface RootUses {
  /** Agents are sent roots (`ISTIO_MULTIROOT_MESH`). */
  readonly areSent: boolean;
  /** Signers of the cluster sign certificates (`EXTERNAL_CA`). */
  readonly areOfSigners: boolean;
}

/**
 * Logs the parts of `caCertificates` in the mesh configuration that have no effect, now and after each change.
 *
 * @returns ends this
 */
export function warnOfUnusedRoots(
  database: Pick<Database<Proxy>, "read" | "observe">,
  uses: RootUses,
  log: Pick<Logger, "warn">,
): () => void {
  const check = (): void => {
    const configured = database.read(meshConfig, meshConfigKey)?.caCertificates ?? [];
    for (const [index, entry] of configured.entries())
      for (const fault of faultsOf(entry, uses)) log.warn(`mesh configuration: caCertificates[${index}].${fault}`);
  };
  check();
  return followMeshConfig(database, check);
}

function faultsOf(
  { certificateData: data, certSigners }: MeshConfig_CertificateData,
  { areSent, areOfSigners }: RootUses,
): readonly string[] {
  const signers = certSigners.length > 0 && !areOfSigners ? ["certSigners has no effect without EXTERNAL_CA"] : [];
  if (data.case === undefined) return signers;
  const isOfSigner = data.case === "pem" && certSigners.length > 0 && areOfSigners;
  if (!areSent)
    return isOfSigner ? signers : [...signers, `${data.case} has no effect without ISTIO_MULTIROOT_MESH=true`];
  if (data.case === "pem" && !isCaCertificate(data.value))
    return [...signers, "pem is not a CA certificate, agents do not receive it"];
  if (data.case === "spiffeBundleUrl" && bundleEndpointUrl(data.value) === undefined)
    return [...signers, "spiffeBundleUrl is not an https URL, it is not fetched"];
  return signers;
}
