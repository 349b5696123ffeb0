import {
  authorizationPolicies,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  pods,
  requestAuthenticationKind,
  type RequestAuthenticationObject,
  requestAuthentications,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
  workloadKinds,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { AuthorizationPolicy_Action as Action } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import {
  destinationRuleLimits,
  type GrpcLimit,
  meshGateway,
  rootNamespace,
  selectorMatches,
  virtualServiceLimits,
} from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

export const grpcLimitAnalyzer: Analyzer = {
  name: "mesh.GrpcLimitAnalyzer",
  description: "Checks for settings that gRPC applications without a proxy do not apply, if the mesh has any",
  codes: ["MESH0067"],
  rules: [
    rule(virtualServiceKind, virtualServices, checkVirtualService),
    rule(destinationRuleKind, destinationRules, checkDestinationRule),
    rule(authorizationPolicyKind, authorizationPolicies, checkAuthorizationPolicy),
    rule(requestAuthenticationKind, requestAuthentications, checkRequestAuthentication),
  ],
};

function checkVirtualService({ spec }: VirtualServiceObject, context: AnalysisContext): void {
  const isForMesh = spec.gateways.length === 0 || spec.gateways.includes(meshGateway);
  if (isForMesh && context.q.call(grpcWorkloads).length > 0) reportAll(virtualServiceLimits(spec), context);
}

function checkDestinationRule({ spec }: DestinationRuleObject, context: AnalysisContext): void {
  if (context.q.call(grpcWorkloads).length > 0) reportAll(destinationRuleLimits(spec), context);
}

function checkAuthorizationPolicy({ namespace, spec }: AuthorizationPolicyObject, context: AnalysisContext): void {
  if (!selectsGrpc(context.q, namespace, spec.selector?.matchLabels)) return;
  if (spec.action === Action.CUSTOM)
    reportAll(
      [{ path: ["spec", "provider"], message: "asks no external authorizer: matching calls are denied" }],
      context,
    );
  if (spec.action === Action.AUDIT) reportAll([{ path: ["spec", "action"], message: "does not audit calls" }], context);
}

function checkRequestAuthentication({ namespace, spec }: RequestAuthenticationObject, context: AnalysisContext): void {
  if (selectsGrpc(context.q, namespace, spec.selector?.matchLabels))
    reportAll([{ path: ["spec"], message: "verifies no tokens: rules that require one allow no call" }], context);
}

function reportAll(limits: readonly GrpcLimit[], { report }: AnalysisContext): void {
  for (const { path, message } of limits)
    report(
      "MESH0067",
      path,
      `gRPC ${message}; this concerns the applications without a proxy, of the templates grpc-agent and grpc-simple`,
    );
}

interface GrpcWorkload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

const templatesAnnotation = "inject.istio.io/templates";
const grpcTemplates: ReadonlySet<string> = new Set(["grpc-agent", "grpc-simple"]);

/** The workloads that are injected as gRPC applications without a proxy. */
const grpcWorkloads = query("grpcWorkloads", (q): readonly GrpcWorkload[] => {
  const ofPods = q.all(pods).filter(({ annotations }) => isGrpc(annotations));
  const ofTemplates = workloadKinds.flatMap((kind) =>
    q
      .all(kind.collection)
      .filter(({ spec }) => isGrpc(spec.templateAnnotations))
      .map(({ namespace, spec }) => ({ namespace, labels: spec.templateLabels })),
  );
  return [...ofPods.map(({ namespace, labels }) => ({ namespace, labels })), ...ofTemplates];
});

function isGrpc(annotations: Readonly<Record<string, string>>): boolean {
  const names = (annotations[templatesAnnotation] ?? "").split(",").map((name) => name.trim());
  return names.some((name) => grpcTemplates.has(name));
}

function selectsGrpc(q: QueryContext, namespace: string, selector: Readonly<Record<string, string>> = {}): boolean {
  const isEverywhere = namespace === rootNamespace(q);
  return q
    .call(grpcWorkloads)
    .some(
      (workload) => (isEverywhere || workload.namespace === namespace) && selectorMatches(selector, workload.labels),
    );
}
