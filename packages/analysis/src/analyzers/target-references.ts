import {
  authorizationPolicies,
  authorizationPolicyKind,
  type ConfigObject,
  envoyFilterKind,
  envoyFilters,
  gatewayClasses,
  kubernetesGateways,
  requestAuthenticationKind,
  requestAuthentications,
  telemetries,
  telemetryKind,
  trafficExtensionKind,
  trafficExtensions,
  wasmPluginKind,
  wasmPlugins,
} from "@istiod/config-schema";
import { servedClass } from "@istiod/gateway-api";
import { nearestNames } from "@istiod/settings";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
import { quotedNearest } from "../suggestions.js";

export const targetReferenceAnalyzer: Analyzer = {
  name: "mesh.TargetReferenceAnalyzer",
  description: "Checks that the Gateways that policies target exist",
  codes: ["IST0101"],
  rules: [
    rule(authorizationPolicyKind, authorizationPolicies, checkTargets),
    rule(requestAuthenticationKind, requestAuthentications, checkTargets),
    rule(telemetryKind, telemetries, checkTargets),
    rule(wasmPluginKind, wasmPlugins, checkTargets),
    rule(trafficExtensionKind, trafficExtensions, checkTargets),
    rule(envoyFilterKind, envoyFilters, checkTargets),
  ],
};

interface Target {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

interface Policy {
  readonly targetRef?: Target | undefined;
  readonly targetRefs: readonly Target[];
}

function checkTargets({ namespace, spec }: ConfigObject<Policy, unknown>, context: AnalysisContext): void {
  if (spec.targetRef !== undefined) checkTarget(spec.targetRef, namespace, ["spec", "targetRef"], context);
  for (const [i, target] of spec.targetRefs.entries())
    checkTarget(target, namespace, ["spec", "targetRefs", i], context);
}

function checkTarget(
  { group, kind, name }: Target,
  namespace: string,
  path: readonly (string | number)[],
  { q, report }: AnalysisContext,
): void {
  if (group !== "gateway.networking.k8s.io") return;
  const isClass = kind === "GatewayClass";
  const isKnown = isClass
    ? q.read(gatewayClasses, name) !== undefined || q.call(servedClass, name) !== undefined
    : kind !== "Gateway" || q.read(kubernetesGateways, `${namespace}/${name}`) !== undefined;
  if (isKnown) return;
  const prefix = isClass ? "" : `${namespace}/`;
  const known = [...q.keys(isClass ? gatewayClasses : kubernetesGateways)].filter((key) => key.startsWith(prefix));
  report(
    "IST0101",
    path,
    `referenced ${kind} ${prefix}${name} not found, so that the object has no effect there${quotedNearest(
      nearestNames(
        name,
        known.map((key) => key.slice(prefix.length)),
      ),
    )}`,
  );
}
