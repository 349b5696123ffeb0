import {
  authorizationPolicies,
  authorizationPolicyKind,
  backendKind,
  type ConfigObject,
  customResourceDefinitionKind,
  type CustomResourceDefinitionObject,
  customResourceDefinitions,
  gatewayApiReleaseAnnotation,
  requestAuthenticationKind,
  requestAuthentications,
  telemetries,
  telemetryKind,
  unsupportedDefinition,
  wasmPluginKind,
  wasmPlugins,
} from "@istiod/config-schema";
import { gatewayApiFeatures } from "@istiod/gateway-api";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
import { listNames } from "../suggestions.js";
import { selectedPods } from "../queries/pods.js";

/** Analyzers of the Gateway API. */
export const kubernetesGatewayAnalyzers: readonly Analyzer[] = [
  {
    name: "k8sgateway.SelectorAnalyzer",
    description: "Checks that policies do not select the pods of Gateways of the Gateway API by label",
    codes: ["IST0166"],
    rules: [
      rule(authorizationPolicyKind, authorizationPolicies, checkSelector),
      rule(requestAuthenticationKind, requestAuthentications, checkSelector),
      rule(telemetryKind, telemetries, checkSelector),
      rule(wasmPluginKind, wasmPlugins, checkSelector),
    ],
  },
  {
    name: "k8sgateway.CRDVersionAnalyzer",
    description: "Checks that the CRDs of the Gateway API are of a release that is supported",
    codes: ["IST0176"],
    rules: [rule(customResourceDefinitionKind, customResourceDefinitions, checkVersion)],
  },
];

interface Policy {
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> } | undefined;
  readonly targetRef?: unknown;
}

/** Group of the kinds that need PILOT_ENABLE_ALPHA_GATEWAY_API. */
const experimentalGroup = backendKind.group;

/** Label of the pods of a Gateway of the Gateway API. */
const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

function checkSelector(
  { namespace, spec: { selector, targetRef } }: ConfigObject<Policy, unknown>,
  { q, report }: AnalysisContext,
): void {
  if (selector === undefined || targetRef !== undefined) return;
  const names = q
    .call(selectedPods, { namespace, labels: selector.matchLabels })
    .flatMap(({ labels }) => labels[gatewayNameLabel] ?? []);
  if (names.length === 0) return;
  report(
    "IST0166",
    ["spec", "selector"],
    `the selector is ineffective at Gateway ${listNames([...new Set(names)].sort())} of the Gateway API, whose pods it matches; attach the policy to it with targetRefs`,
  );
}

function checkVersion({ name, annotations }: CustomResourceDefinitionObject, { q, report }: AnalysisContext): void {
  if (name.endsWith(`.${experimentalGroup}`) && !gatewayApiFeatures.alpha(q)) return;
  const unsupported = unsupportedDefinition(name, annotations);
  // Without a release, a definition may be one that is not the Gateway API's own.
  if (unsupported === undefined || !/^v?\d/.test(unsupported.release)) return;
  const { release, minimum } = unsupported;
  report(
    "IST0176",
    ["metadata", "annotations", gatewayApiReleaseAnnotation],
    `CRD ${name} of the Gateway API has version ${release}, but ${minimum} is the minimum, so its objects are ignored; install a newer release of the Gateway API`,
  );
}
