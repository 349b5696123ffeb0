export { type AssignmentTableOptions, assignments, assignmentTable } from "./assignments.js";
export { bootstrapJson, bootstrapTable } from "./bootstrap.js";
export { type ClusterFilter, clusters, clusterTable } from "./clusters.js";
export { compareDumps, type Comparison, formatComparison } from "./compare-dumps.js";
export { type ConfigDump, configDump, type DumpedResource, readConfigDump } from "./config-dump.js";
export { controlPlaneDump, type SentResource, type SentResources, withoutSecrets } from "./control-plane-dump.js";
export { type EndpointFilter } from "./endpoint-filter.js";
export { type ClusterHosts, clusterHostsJson, endpointTable, readClusterHosts } from "./endpoints.js";
export { ProxyConfigError, type ProxyConfigErrorCode } from "./errors.js";
export { extensionsJson, extensionTable } from "./extensions.js";
export { type ListenerFilter, listeners, type ListenerTableOptions, listenerTable } from "./listeners.js";
export { formatValue } from "./output.js";
export {
  type ProxyStatus,
  type ProxyStatuses,
  proxyStatusTable,
  type ProxyStatusTableOptions,
  readProxyStatuses,
} from "./proxy-status.js";
export { type RouteFilter, routes, type RouteTableOptions, routeTable } from "./routes.js";
export { secrets, secretsJson, type SecretSummary, secretTable } from "./secrets.js";
export { formatSummary, type SummaryOptions } from "./summary.js";
export { formatTable, type Table } from "./table.js";
