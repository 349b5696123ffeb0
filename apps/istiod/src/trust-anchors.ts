import type { TrustSource } from "@istiod/ca";
import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { isCaCertificate, trustAnchors } from "@istiod/xds-generators";
import type { Logger } from "pino";
import type { Mesh } from "./phases/mesh.js";

/**
 * Keeps the roots of the authorities as an input of the agents' proxy configuration (PCDS), and logs the roots of the
 * mesh configuration that are not sent. Returns a function that ends this.
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
    for (const [index, { certificateData }] of configured.entries())
      if (certificateData.case === "pem" && !isCaCertificate(certificateData.value))
        log.warn(`mesh configuration: caCertificates[${index}].pem is not a CA certificate, agents do not receive it`);
  };
  commit();
  check();
  const unobserve = database.observe({
    after: ({ changed }) => {
      if (changed.some(({ collection }) => collection === meshConfig)) check();
    },
  });
  const unfollow = authorities.map((authority) => authority.onChange(commit));
  return () => {
    unobserve();
    for (const each of unfollow) each();
  };
}
