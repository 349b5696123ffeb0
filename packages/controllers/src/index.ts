export { type Controller, type Observed, type Watch } from "./controller/controller.js";
export { type ControllerLog } from "./controller/log.js";
export {
  runController,
  type RunningController,
  type RunOptions,
  type WriteListener,
} from "./controller/run-controller.js";
export { type PlannedWrite, planWrites } from "./controller/plan-writes.js";
export { type Write } from "./controller/write.js";
export { type DefaultRevision, followDefaultRevision } from "./leadership/default-revision.js";
export { type Candidacy, type CandidateOptions, type Led, runElected } from "./leadership/elected.js";
export { gatewayDeploymentLock, gatewayStatusLock, inferencePoolLock, type Lock, locks } from "./leadership/locks.js";
export { DesiredPoolServices } from "./inference-pools/desired-pool-services.js";
export {
  followPoolOwnership,
  type PoolOwnership,
  type PoolOwnershipOptions,
} from "./inference-pools/pool-ownership.js";
export { inferencePoolController, type InferencePoolOptions } from "./inference-pools/inference-pool-controller.js";
export {
  type AnalysisResults,
  analysisKey,
  analysisStatusController,
  type AnalysisStatusOptions,
  type AnalyzedObject,
} from "./analysis-status/analysis-status-controller.js";
export { analyzedTypes } from "./analysis-status/analyzed-types.js";
export { StatusAnalysis, type StatusAnalysisOptions } from "./analysis-status/status-analysis.js";
export { type StatusMessage } from "./analysis-status/status-fields.js";
export {
  caBundleErrors,
  injectionWebhookMetrics,
  type RegistrationMetrics,
  registrationMetrics,
  validationWebhookMetrics,
} from "./metrics/controller-metrics.js";
export { clusterTrustBundleController } from "./root-certificates/cluster-trust-bundle-controller.js";
export { type Scope } from "./inputs/discovery.js";
export { type MeshSettings } from "./inputs/mesh-settings.js";
export { ingressStatusController, type IngressStatusOptions } from "./ingress-status/ingress-status-controller.js";
export { nodeUntaintController, type NodeUntaintOptions } from "./node-untaint/node-untaint-controller.js";
export { serviceExportController, type ServiceExportOptions } from "./service-export/service-export-controller.js";
export { ipAllocationController, type IpAllocationOptions } from "./ip-allocation/ip-allocation-controller.js";
export { type AddressPrefix, parsePrefix } from "./ip-allocation/address-prefix.js";
export { namespaceController, type NamespaceControllerOptions } from "./root-certificates/namespace-controller.js";
export { gatewayDeploymentController } from "./managed-gateways/gateway-deployment-controller.js";
export { type GatewayDeploymentOptions, type GatewayDeploymentSources } from "./managed-gateways/gateway-inputs.js";
export { gatewayClassController } from "./managed-gateways/gateway-class-controller.js";
export {
  type ComputedStatus,
  DesiredStatuses,
  type DesiredStatusesOptions,
  type StatusChanges,
} from "./gateway-status/desired-statuses.js";
export { gatewayStatusController, type GatewayStatusOptions } from "./gateway-status/gateway-status-controller.js";
export { type ObservedStatus, statusChange } from "./gateway-status/merge-status.js";
export { type ClassSettings, type CreatedClass, createdClasses } from "./managed-gateways/managed-classes.js";
export { ManagedGatewayError } from "./managed-gateways/managed-gateway-error.js";
export { type ManagedGatewaySettings, renderGateway, type RenderInput } from "./managed-gateways/render-gateway.js";
export { type KubernetesVersion, kubernetesVersion } from "./inputs/kubernetes-version.js";
export { type Source } from "./inputs/source.js";
export { type DistributedText } from "./root-certificates/distributed-text.js";
export { type RootCertificates } from "./root-certificates/root-certificates.js";
export { permissions, type Permissions, type PolicyRule } from "./rbac/permissions.js";
export { RegistrationError } from "./workload-registration/registration-error.js";
export {
  type RegisteredWorkload,
  WorkloadRegistration,
  type WorkloadRegistrationOptions,
} from "./workload-registration/workload-registration.js";
export { type Health, type Workload } from "./workload-registration/workload.js";
export { type RegistrationPolicy } from "./workload-registration/registration-state.js";
export { warningWebhookController } from "./webhooks/warning-webhook-controller.js";
export { injectionWebhookController, type InjectionWebhookOptions } from "./webhooks/injection-webhook-controller.js";
export { probeValidation, type ProbeOptions, type ProbeResult } from "./webhooks/validation-probe.js";
export {
  validationWebhookController,
  type ValidationWebhookOptions,
} from "./webhooks/validation-webhook-controller.js";
export { isControlledFrom, RemoteControllers, type RemoteControllersOptions } from "./remote/remote-controllers.js";
