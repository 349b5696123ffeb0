export { absentFiles } from "./absent-files.js";
export { analyzeCommand, analyzeExits, type AnalyzeOutput } from "./analyze.js";
export { authzCommand, authzExits, type AuthzOutput } from "./authz-check.js";
export {
  createRemoteSecretCommand,
  type RemoteSecretOptions,
  type RemoteSecretOutput,
} from "./create-remote-secret.js";
export { diffCommand, type DiffOutput } from "./diff.js";
export { explainCommand } from "./explain.js";
export {
  kubeInjectCommand,
  type KubeInjectOptions,
  type KubeInjectOutput,
  type KubeInjectSettings,
} from "./kube-inject.js";
export { meshFlags, type MeshFlags } from "./mesh-flags.js";
export type { OfflineMesh, OfflineMeshes } from "./offline-mesh.js";
export { proxyConfigCommand } from "./proxy-config.js";
export { proxyStatusCommand, type ProxyStatusOutput } from "./proxy-status.js";
export { replicasCommand, type ReplicasOutput } from "./replicas.js";
export { statusCommand, type StatusOutput } from "./status.js";
export { tokenCommand, type TokenOutput } from "./token.js";
export { validateCommand, type ValidateOutput } from "./validate.js";
