export { clusters, unpatchedClusters } from "./clusters.js";
export { servesCluster } from "./outbound/service-clusters.js";
