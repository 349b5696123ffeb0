export { buildServer, type BuildOptions } from "./build-server.js";
export { customResourceDefinitions, type CustomResourceKind } from "./custom-resource-definitions.js";
export { type InjectableFaults } from "./fault-client.js";
export { clusterUnavailable, findServer } from "./find-server.js";
export {
  type ClientCertificate,
  type Cluster,
  type ClusterOptions,
  type ClusterWithFaults,
  startCluster,
} from "./start-cluster.js";
