import {
  authorizationPolicies,
  authorizationPolicyKind,
  type ConfigObject,
  customResourceDefinitionKind,
  type CustomResourceDefinitionObject,
  customResourceDefinitions,
  requestAuthenticationKind,
  requestAuthentications,
  telemetries,
  telemetryKind,
  wasmPluginKind,
  wasmPlugins,
} from "@istiod/config-schema";
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

const versionAnnotation = "gateway.networking.k8s.io/bundle-version";

/** The minimum release of the Gateway API by CRD. Older CRDs and their objects are ignored. */
const minimumVersions: Readonly<Record<string, readonly [number, number, number]>> = {
  "grpcroutes.gateway.networking.k8s.io": [1, 1, 0],
  "backendtlspolicies.gateway.networking.k8s.io": [1, 4, 0],
  "tlsroutes.gateway.networking.k8s.io": [1, 5, 0],
  "tcproutes.gateway.networking.k8s.io": [1, 6, 0],
};

function checkVersion({ name, annotations }: CustomResourceDefinitionObject, { report }: AnalysisContext): void {
  const minimum = Object.hasOwn(minimumVersions, name) ? minimumVersions[name] : undefined;
  const installed = parseVersion(annotations[versionAnnotation] ?? "");
  if (minimum === undefined || installed === undefined) return;
  const at = installed.findIndex((part, i) => part !== minimum[i]);
  if (at < 0 || (installed[at] ?? 0) > (minimum[at] ?? 0)) return;
  report(
    "IST0176",
    ["metadata", "annotations", versionAnnotation],
    `CRD ${name} of the Gateway API has version ${annotations[versionAnnotation]}, but v${minimum.join(".")} is the minimum, so its objects are ignored; install a newer release of the Gateway API`,
  );
}

/**
 * Parses the numbers of a semantic version, ignoring its prerelease. Minor and patch may be missing. Returns undefined
 * if it is not a version.
 */
function parseVersion(text: string): readonly number[] | undefined {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.exec(text);
  return match?.slice(1).map((part) => Number(part ?? 0));
}
