export { type AssignmentTableOptions, assignments, assignmentTable } from "./resources/endpoints/assignments.js";
export { bootstrapJson, bootstrapTable } from "./resources/bootstrap.js";
export { type ClusterFilter, clusters, clusterTable } from "./resources/clusters.js";
export { compareDumps, type Comparison, formatComparison } from "./dump/compare-dumps.js";
export { type ConfigDump, configDump, type DumpedResource, readConfigDump } from "./dump/config-dump.js";
export {
  controlPlaneDump,
  controlPlaneDumpMessages,
  type SentResource,
  type SentResources,
  withoutSecrets,
} from "./dump/control-plane-dump.js";
export { type DryRunCount, dryRunCounts, type DryRunPolicy, formatDryRuns } from "./dry-runs.js";
export { type EndpointFilter } from "./resources/endpoints/endpoint-filter.js";
export {
  type ClusterHosts,
  clusterHostsJson,
  endpointTable,
  readClusterHosts,
} from "./resources/endpoints/endpoints.js";
export { ProxyConfigError, type ProxyConfigErrorCode } from "./errors.js";
export { extensionsJson, extensionTable } from "./resources/extensions.js";
export {
  type ListenerFilter,
  listeners,
  type ListenerTableOptions,
  listenerTable,
} from "./resources/listeners/listeners.js";
export { formatValue } from "./output.js";
export {
  type ProxyStatus,
  type ProxyStatuses,
  proxyStatusTable,
  type ProxyStatusTableOptions,
  readProxyStatuses,
} from "./proxy-status.js";
export { type RouteFilter, routes, type RouteTableOptions, routeTable } from "./resources/routes.js";
export { secrets, secretsJson, type SecretSummary, secretTable } from "./resources/secrets.js";
export { formatSummary, type SummaryOptions } from "./summary.js";
export { formatTable, type Table } from "./table.js";
export {
  type ClusterTls,
  clusterTls,
  inboundTls,
  type PortMode,
  routeTraffic,
  type RouteTraffic,
} from "./resources/traffic.js";
export { managedBy } from "./resources/managed-by.js";
