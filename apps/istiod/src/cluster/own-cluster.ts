import { clusterReader, formatUnsupported, KubernetesSource } from "@istiod/config-ingestion";
import { allKinds, ingressKinds, kubernetesKinds } from "@istiod/config-schema";
import type { ApiClient, TypeAvailability } from "@istiod/kubernetes";
import type { Environment } from "@istiod/settings";
import type { MeshFlags } from "@istiod/commands";
import { withMultiClusterKinds } from "../sources/kinds.js";
import { variables } from "../variables.js";

/** Reports whether an address of `configSources` names this istiod's own cluster. */
export function isOwnCluster(address: string): boolean {
  return /^k8s:\/*$/.test(address);
}

/**
 * Returns the source of this istiod's cluster. Istio's configuration is read from it unless it is read from elsewhere.
 * Ingresses always are, as in Istio.
 */
export function clusterSource(
  client: ApiClient,
  values: MeshFlags,
  env: Environment,
  {
    isConfigElsewhere,
    stateDir,
    availability,
    warn,
  }: {
    readonly isConfigElsewhere: boolean;
    readonly stateDir: string;
    readonly availability: TypeAvailability | undefined;
    readonly warn: (message: string) => void;
  },
): KubernetesSource {
  const kinds = isConfigElsewhere ? [...kubernetesKinds, ...ingressKinds] : allKinds;
  return new KubernetesSource({
    cluster: values.clusterID,
    reader: clusterReader(client, {
      ...(availability && { availability }),
      onUnsupported: (name, unsupported) =>
        warn(`${formatUnsupported(name, unsupported)}: its objects are not processed`),
    }),
    kinds: withMultiClusterKinds(kinds, env),
    revision: variables.revision.read(env),
    namespace: variables.watchNamespace.read(env),
    ...(stateDir && { stateDirectory: stateDir }),
    resources: { ignore: variables.ignoredResources.read(env), include: variables.includedResources.read(env) },
  });
}
