import {
  customResourceDefinitionKind,
  type CustomResourceDefinitionObject,
  customResourceDefinitions,
  sidecarKind,
  type SidecarObject,
  sidecars,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";

/** Analyzers of kinds and fields that are deprecated. */
export const deprecationAnalyzers: readonly Analyzer[] = [
  {
    name: "deprecation.DeprecationAnalyzer",
    description: "Finds deprecated kinds and fields of Istio",
    codes: ["IST0002"],
    rules: [
      rule(virtualServiceKind, virtualServices, checkVirtualService),
      rule(sidecarKind, sidecars, checkSidecar),
      rule(customResourceDefinitionKind, customResourceDefinitions, checkDefinition),
    ],
  },
];

function checkVirtualService({ spec }: VirtualServiceObject, { report }: AnalysisContext): void {
  for (const [i, { fault }] of spec.http.entries()) {
    if ((fault?.delay?.percent ?? 0) <= 0) continue;
    report(
      "IST0002",
      ["spec", "http", i, "fault", "delay", "percent"],
      "fault.delay.percent is deprecated; use fault.delay.percentage instead",
    );
  }
}

function checkSidecar({ spec }: SidecarObject, { report }: AnalysisContext): void {
  if (spec.outboundTrafficPolicy?.egressProxy === undefined) return;
  report(
    "IST0002",
    ["spec", "outboundTrafficPolicy", "egressProxy"],
    "outboundTrafficPolicy.egressProxy is deprecated and ignored; remove it",
  );
}

const removedGroup = "rbac.istio.io";
const removedKinds: ReadonlySet<string> = new Set([
  "ClusterRbacConfig",
  "RbacConfig",
  "ServiceRole",
  "ServiceRoleBinding",
]);

function checkDefinition({ spec }: CustomResourceDefinitionObject, { report }: AnalysisContext): void {
  if (spec.group !== removedGroup || !removedKinds.has(spec.definedKind)) return;
  report(
    "IST0002",
    ["spec"],
    `custom resource type ${spec.group} ${spec.definedKind} is deprecated: it was removed from Istio and has no effect; use AuthorizationPolicy instead`,
  );
}
