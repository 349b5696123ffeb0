import { collection } from "@istiod/incremental";

/** Environment variables of istiod that change what is generated, by name. */
export const environment = collection<string>("Environment");

/** The variable that names the cluster of the configuration; set from istiod's flag `--clusterID`. */
export const clusterIdVariable = "CLUSTER_ID";
