export { absentFiles } from "./absent-files.js";
export { analyzeCommand, analyzeExits, type AnalyzeOutput } from "./analyze.js";
export { authzCommand, authzExits, type AuthzOutput } from "./authz-check.js";
export { bugReportCommand, type BugReportOptions } from "./bug-report/bug-report.js";
export { checkInjectCommand } from "./check-inject.js";
export type { ClusterCommandOptions } from "./cluster/cluster.js";
export { completionCommand } from "./completion.js";
export { shortenHelp } from "./help.js";
export {
  createRemoteSecretCommand,
  type RemoteSecretOptions,
  type RemoteSecretOutput,
} from "./create-remote-secret.js";
export { describeCommand } from "./describe.js";
export { diffCommand, type DiffOutput } from "./diff.js";
export { explainCommand } from "./explain.js";
export { injectorCommand } from "./injector-list.js";
export {
  kubeInjectCommand,
  type KubeInjectOptions,
  type KubeInjectOutput,
  type KubeInjectSettings,
} from "./kube-inject.js";
export { meshFlags, type MeshFlags } from "./mesh-flags.js";
export { metricsCommand } from "./metrics.js";
export type { OfflineMesh, OfflineMeshes } from "./offline-mesh.js";
export { precheckCommand } from "./precheck.js";
export { proxyConfigCommand } from "./proxy-config.js";
export { proxyStatusCommand, type ProxyStatusOutput } from "./proxy-status.js";
export { remoteClustersCommand, type RemoteClustersOutput } from "./remote-clusters.js";
export { replacementOf } from "./replacement.js";
export { replicasCommand, type ReplicasOutput } from "./replicas.js";
export { requestCommand } from "./request.js";
export { statusCommand, type StatusOutput } from "./status.js";
export { tagCommand } from "./tag.js";
export { tokenCommand, type TokenOutput } from "./token.js";
export { workloadCommand } from "./workload/workload.js";
export { validateCommand, type ValidateOutput } from "./validate.js";
