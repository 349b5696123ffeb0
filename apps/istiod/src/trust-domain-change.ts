import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import type { Logger } from "pino";
import { followMeshConfig } from "./follow-mesh-config.js";
import type { Mesh } from "./phases/mesh.js";

/**
 * Warns when the trust domain in the mesh configuration becomes another one than that of this istiod's identities.
 * Proxies get the new one at once, but certificates keep the one that istiod has started with. Returns a function that
 * ends this.
 *
 * @param certified trust domain of the identities that this istiod certifies
 */
export function followTrustDomain(certified: string, { database }: Pick<Mesh, "database">, log: Logger): () => void {
  let known = certified;
  return followMeshConfig(database, () => {
    const configured = database.read(meshConfig, meshConfigKey)?.trustDomain || "cluster.local";
    if (configured === known) return;
    known = configured;
    if (configured !== certified)
      log.warn(
        `mesh configuration: trustDomain is now ${configured}, but this istiod certifies identities of ${certified} until it is restarted; keep ${certified} in trustDomainAliases until all certificates were renewed after that`,
      );
  });
}
