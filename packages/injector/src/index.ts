export { validateAnnotations } from "./annotations/validate-annotations.js";
export { type InjectorConfig, parseInjectionTemplates, parseInjectorConfig } from "./config/injector-config.js";
export {
  followInjector,
  type InjectorDocuments,
  type InjectorLog,
  type InjectorPlace,
  type InjectorPlaces,
  type InjectorSource,
} from "./config/injector-source.js";
export { type InjectorValues, parseValues } from "./config/values.js";
export { type Decision, type DecisionReason, decideInjection, type InjectionPolicy } from "./decide-injection.js";
export { InjectorError, type InjectorErrorCode } from "./errors.js";
export { storedForm } from "./go-types/stored-form.js";
export type { JsonObject } from "./go-types/json.js";
export { decodePod, type InjectionInput, injectPod } from "./inject/inject-pod.js";
export { type NativeSidecarMode, type NodeVersion, usesNativeSidecars } from "./inject/native-sidecars.js";
export { effectiveProxyConfig, type ProxyConfigTarget } from "./inject/proxy-config.js";
export { type Workload, workloadOf } from "./inject/workload.js";
export { createJsonPatch, type JsonPatchOperation } from "./json-patch.js";
export { type InjectedResources, injectResources, type ResourceInjection } from "./kube-inject.js";
export { type LabelSelector, selectorMatches } from "./label-selector.js";
export { type InjectionMetrics, injectionMetrics } from "./metrics.js";
export { type Injector, type Mutation, type MutationRequest, mutatePod, podReviewLimits } from "./mutate-pod.js";
export type { Container, LifecycleHandler, Pod, Probe } from "./pod.js";
export { type AppProber, rewriteProbes, type RewrittenProbes } from "./rewrite-probes.js";
export { applyStrategicMergePatch } from "./strategic-merge/strategic-merge-patch.js";
export type { FunctionOptions } from "./templates/functions.js";
export type { GatewayDescription, GatewayPort, GatewayTemplateInput } from "./templates/gateway-data.js";
export { agentgatewayImage, proxyImage } from "./templates/image.js";
export { proxyIds, type ProxyIds } from "./inject/proxy-ids.js";
export type { InjectionTemplate } from "./templates/injection-template.js";
export type { TemplateInput } from "./templates/template-data.js";
