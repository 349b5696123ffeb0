export { askReplicas, type AskOptions } from "./ask-replicas.js";
export { type ClientStatus, decodeClientStatus, latestClientStatuses } from "./client-status.js";
export {
  type ConnectedProxy,
  connectionNamed,
  decodeProxies,
  formatUnserved,
  joinConnections,
  type JoinedConnections,
  type LatestConnection,
  type ProxyConnection,
  type UnservedClient,
  unservedClients,
} from "./connected-proxies.js";
export { type Ask, controlPlane, type ControlPlaneOptions, onlyParameter, type Selection } from "./control-plane.js";
export { distinctAnswers, type DistinctAnswer } from "./distinct-answers.js";
export { followedReplicas, type FollowedReplicasOptions } from "./followed-replicas.js";
export { formatSilent, incompleteExit, replicaTable, type ReplicaTableOptions } from "./format.js";
export {
  type Decode,
  decodeAnswers,
  type Gathered,
  joinGathered,
  parseGathered,
  type ReplicaAnswer,
  type ReplicaFailure,
  type SilentReplica,
} from "./gathered.js";
export { httpReplica, httpReplicas, type HttpReplicasOptions } from "./http-replicas.js";
export { decodePage, joinPages, type PageProxy, proxyPageAddress, type ReplicaPage } from "./join-pages.js";
export { askProxyReplica, type ProxyAnswer } from "./proxy-answer.js";
export { ReplicaCommands, type ReplicaCommandsOptions, sharedCommands } from "./replica-commands.js";
export {
  parseReply,
  type Replica,
  ReplicaError,
  type ReplicaErrorCode,
  type ReplicaInstance,
  type ReplicaReply,
} from "./replica.js";
export { givenReplicas, type OtherPodsOptions, type ReplicaAddress, replicasInOtherPods } from "./replica-addresses.js";
export { type ReplicaPod, replicaPods, type ReplicaPodsOptions } from "./replica-pods.js";
export { formatControlPlaneStatus } from "./status/format-status.js";
export { gatherStatus, type GatherStatusOptions } from "./status/gather-status.js";
export { type ControlPlaneStatus, joinStatus } from "./status/join-status.js";
export {
  type AnnotatedStatus,
  decodeStatus,
  type AppliedPatch,
  type LackedPart,
  type StatusAnswer,
  type UnreadSource,
} from "./status/status-answer.js";
export { statusExit, statusExits } from "./status/status-exit.js";
export { replicaCredentials, type ReplicaCredentialsOptions } from "./replica-credentials.js";
export { type ReplicaCredentials, xdsReplica, type XdsReplicaOptions } from "./xds-replica.js";
