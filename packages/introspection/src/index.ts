export { DebugAccess, type DebugAccessOptions } from "./debug/access.js";
export {
  type AuthorizeDebug,
  debugAuthorization,
  type DebugAuthorizationOptions,
  type DebugCaller,
  type DebugDecision,
  type DebugTransport,
} from "./debug/authorization.js";
export { questionParameters } from "./debug/authz-command.js";
export { changeCommands, type ChangeCommandsOptions } from "./debug/change-commands.js";
export { clientConfigs } from "./debug/client-configs.js";
export { type DebugAnswer, type DebugCommand, type DebugRequest, textAnswer } from "./debug/command.js";
export { configDump, configDumpMessages } from "./debug/config-dump.js";
export type { ControlPlaneInstance } from "./debug/control-plane.js";
export type { MeshCommandsOptions } from "./debug/mesh-commands.js";
export { multiClusterInfos } from "./debug/multi-cluster-services.js";
export { debugOverXds, type DebugOverXdsOptions, debugType } from "./debug/over-xds.js";
export { connectedProxies, proxyConnections } from "./debug/proxies.js";
export type { ProxyCommandsOptions, StreamCommandsOptions } from "./debug/proxy-commands.js";
export { replicaCommands, type ReplicaCommandsOptions } from "./debug/replica-commands.js";
export { debugCommands, type DebugOptions, debugRoutes, listCommand } from "./debug/routes.js";
export { type AuthorityState, certificateStatuses } from "./status/certificate-statuses.js";
export { expiredCertificates } from "./status/expired-certificates.js";
export { proxyDetailsCommand, proxyPageCommand } from "./status/proxy-details.js";
export { revocationStatuses } from "./status/revocation-status.js";
export {
  clusterStates,
  type ClusterState,
  componentLines,
  sourceStatuses,
  staleSourcesSummary,
  staleTrustSummary,
} from "./status/source-statuses.js";
export { statusModel, type StatusSources } from "./status/status-model.js";
export { statusRoute, type StatusRouteOptions } from "./status/status-route.js";
export { reasonUnread, unreadVersions, type UnreadVersion } from "./status/unread-versions.js";
