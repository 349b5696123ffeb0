import { collection } from "@istiod/incremental";

/** Environment variables of istiod that affect generation, by name. */
export const environment = collection<string>("Environment");

/** Variable with the ID of the config cluster, set from istiod's flag `--clusterID`. */
export const clusterIdVariable = "CLUSTER_ID";

/** Variable with the namespace of the Secrets of remote clusters, set from the flag `--clusterRegistriesNamespace`. */
export const clusterRegistriesVariable = "CLUSTER_REGISTRIES_NAMESPACE";
