import type { TrustSource } from "@istiod/ca";
import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { bundleEndpointUrl } from "@istiod/jwks";
import { isCaCertificate, trustAnchors } from "@istiod/xds-generators";
import type { Logger } from "pino";
import { followMeshConfig } from "./follow-mesh-config.js";
import type { Mesh } from "./phases/mesh.js";

/**
 * Keeps the roots of the authorities as an input of the agents' proxy configuration (PCDS), and logs the roots of the
 * mesh configuration that are not sent or fetched. Returns a function that ends this.
 */
export function followTrustAnchors(
  authorities: readonly TrustSource[],
  { database }: Pick<Mesh, "database">,
  log: Logger,
): () => void {
  const commit = (): void =>
    void database.commit((tx) =>
      tx.set(
        trustAnchors,
        "",
        authorities.flatMap(({ bundle }) => bundle.roots.map((root) => root.toString())),
      ),
    );
  const check = (): void => {
    const configured = database.read(meshConfig, meshConfigKey)?.caCertificates ?? [];
    for (const [index, { certificateData: data }] of configured.entries()) {
      const field = `mesh configuration: caCertificates[${index}].${data.case}`;
      if (data.case === "pem" && !isCaCertificate(data.value))
        log.warn(`${field} is not a CA certificate, agents do not receive it`);
      if (data.case === "spiffeBundleUrl" && bundleEndpointUrl(data.value) === undefined)
        log.warn(`${field} is not an https URL, it is not fetched`);
    }
  };
  commit();
  check();
  const unfollowConfig = followMeshConfig(database, check);
  const unfollow = authorities.map((authority) => authority.onChange(commit));
  return () => {
    unfollowConfig();
    for (const each of unfollow) each();
  };
}
