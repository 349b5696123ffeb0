import {
  authorizationPolicies,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  type FieldPath,
  telemetries,
  telemetryKind,
  type TelemetryObject,
} from "@istiod/config-schema";
import { AuthorizationPolicy_Action } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { mesh } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { didYouMean } from "../../queries/namespaces.js";

export const providerAnalyzer: Analyzer = {
  name: "mesh.ProviderAnalyzer",
  description: "Checks that extension providers are defined in the mesh configuration",
  codes: ["MESH0008"],
  rules: [
    rule(telemetryKind, telemetries, checkTelemetry),
    rule(authorizationPolicyKind, authorizationPolicies, checkAuthorization),
  ],
};

const sections = ["accessLogging", "metrics", "tracing"] as const;

function checkTelemetry({ spec }: TelemetryObject, context: AnalysisContext): void {
  for (const section of sections) {
    for (const [i, { providers }] of spec[section].entries()) {
      for (const [j, { name }] of providers.entries()) {
        checkProvider(name, "is ignored", ["spec", section, i, "providers", j, "name"], context);
      }
    }
  }
}

function checkAuthorization({ spec }: AuthorizationPolicyObject, context: AnalysisContext): void {
  if (spec.action !== AuthorizationPolicy_Action.CUSTOM || spec.actionDetail.case !== "provider") return;
  checkProvider(
    spec.actionDetail.value.name,
    "denies every request that the policy matches",
    ["spec", "provider", "name"],
    context,
  );
}

function checkProvider(name: string, consequence: string, path: FieldPath, { q, report }: AnalysisContext): void {
  const names = mesh(q).extensionProviders.map((provider) => provider.name);
  if (names.some((known) => known.toLowerCase() === name.toLowerCase())) return;
  report(
    "MESH0008",
    path,
    `provider ${JSON.stringify(name)} is not among extensionProviders of the mesh configuration and ${consequence}${didYouMean(name, names)}`,
  );
}
