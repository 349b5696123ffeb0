export { clusters, unpatchedClusters } from "./clusters.js";
