import {
  authorizationPolicies,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  type FieldPath,
  telemetries,
  telemetryKind,
  type TelemetryObject,
} from "@istiod/config-schema";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { AuthorizationPolicy_Action } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { extensionProvider, mesh, providerProblem, serviceOfProvider } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, meshConfigRule, rule } from "../../analyzer.js";
import { didYouMean } from "../../queries/namespaces.js";

export const providerAnalyzer: Analyzer = {
  name: "mesh.ProviderAnalyzer",
  description: "Checks that extension providers are defined in the mesh configuration, and that their services exist",
  codes: ["MESH0008", "MESH0052"],
  rules: [
    meshConfigRule(checkDefaults),
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
  const kind = context.q.call(extensionProvider, spec.actionDetail.value.name)?.provider.case;
  if (kind !== undefined && kind !== "envoyExtAuthzHttp" && kind !== "envoyExtAuthzGrpc") {
    context.report(
      "MESH0008",
      ["spec", "provider", "name"],
      `provider ${JSON.stringify(spec.actionDetail.value.name)} is of kind ${kind}, which authorizes no request, and denies every request that the policy matches; name one of kind envoyExtAuthzHttp or envoyExtAuthzGrpc`,
    );
    return;
  }
  checkProvider(
    spec.actionDetail.value.name,
    "denies every request that the policy matches",
    ["spec", "provider", "name"],
    context,
  );
}

/** Checks the default providers of the mesh, which are used without being named elsewhere. */
function checkDefaults({ defaultProviders }: MeshConfig, context: AnalysisContext): void {
  for (const section of sections)
    for (const [i, name] of (defaultProviders?.[section] ?? []).entries())
      checkProvider(name, "is ignored", ["defaultProviders", section, i], context);
}

function checkProvider(name: string, consequence: string, path: FieldPath, { q, report }: AnalysisContext): void {
  const provider = q.call(extensionProvider, name);
  if (provider === undefined) {
    const names = mesh(q).extensionProviders.map((each) => each.name);
    const message = `is not among extensionProviders of the mesh configuration and ${consequence}`;
    report("MESH0008", path, `provider ${JSON.stringify(name)} ${message}${didYouMean(name, names)}`);
    return;
  }
  const reference = serviceOfProvider(provider);
  const problem = reference && q.call(providerProblem, reference);
  if (reference !== undefined && problem !== undefined)
    report("MESH0052", path, `service ${JSON.stringify(reference.service)} of provider ${name} ${problem}`);
}
