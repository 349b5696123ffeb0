import {
  authorizationPolicies,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  type FieldPath,
  sidecarKind,
  type SidecarObject,
  sidecars,
} from "@istiod/config-schema";
import type { TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { CaptureMode } from "@istiod/istio-api/networking/v1alpha3/sidecar";
import { AuthorizationPolicy_Action as Action } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { features, resolveHost, rootNamespace } from "@istiod/push-context";
import type { ServicePort } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { portsOfHost } from "../../queries/route-places.js";
import { missingPort, type WorkloadPorts, workloadPorts } from "../../queries/workload-ports.js";
import { listNames } from "../../suggestions.js";

export const portAnalyzer: Analyzer = {
  name: "mesh.PortAnalyzer",
  description: "Checks that the ports of settings are ports of their hosts or workloads",
  codes: ["MESH0041", "MESH0042"],
  rules: [
    rule(destinationRuleKind, destinationRules, checkPortLevelSettings),
    rule(sidecarKind, sidecars, checkIngress),
    rule(authorizationPolicyKind, authorizationPolicies, checkPolicy),
  ],
};

function checkPortLevelSettings({ namespace, spec }: DestinationRuleObject, { q, report }: AnalysisContext): void {
  const policies = [
    { policy: spec.trafficPolicy, path: ["spec", "trafficPolicy"] },
    ...spec.subsets.map(({ trafficPolicy }, i) => ({
      policy: trafficPolicy,
      path: ["spec", "subsets", i, "trafficPolicy"],
    })),
  ];
  if (policies.every(({ policy }) => (policy?.portLevelSettings ?? []).length === 0)) return;
  const known = portsOfHost(q, resolveHost(spec.host, { namespace, domain: features.domainSuffix(q) }));
  if (known === undefined) return;
  for (const { policy, path } of policies) checkOverridden(policy, path, known, report);
  for (const { policy, path } of policies)
    for (const [i, { port }] of (policy?.portLevelSettings ?? []).entries()) {
      if (port === undefined || known.some(({ number }) => number === port.number)) continue;
      const ports =
        known.length === 0 ? "no port" : `ports ${listNames([...new Set(known.map((p) => `${p.number}`))])}`;
      report(
        "MESH0041",
        [...path, "portLevelSettings", i, "port", "number"],
        `the settings have no effect: port ${port.number} is not a port of ${spec.host}, which has ${ports}; name the port of the service, not that of its workloads`,
      );
    }
}

/** Reports settings of a policy that no port has, because each has settings of its own, which inherit none. */
function checkOverridden(
  policy: TrafficPolicy | undefined,
  path: FieldPath,
  ports: readonly ServicePort[],
  report: AnalysisContext["report"],
): void {
  const own = policy?.portLevelSettings ?? [];
  if (policy === undefined || own.length === 0 || ports.length === 0) return;
  const settings = ports.map(({ number }) => own.find(({ port }) => port?.number === number));
  if (settings.includes(undefined)) return;
  for (const field of ["outlierDetection", "connectionPool", "loadBalancer"] as const)
    if (policy[field] !== undefined && settings.every((each) => each?.[field] === undefined))
      report(
        "MESH0042",
        [...path, field],
        `has no effect: each port of the host has portLevelSettings, which do not inherit it; move ${field} there`,
      );
}

/** Reports ingress listeners of Sidecars at ports at which no client of the workloads connects. */
function checkIngress({ namespace, spec }: SidecarObject, { q, report }: AnalysisContext): void {
  if (spec.ingress.length === 0) return;
  const ports = q.call(workloadPorts, { namespace, labels: spec.workloadSelector?.labels ?? {} });
  for (const [i, { port, bind, captureMode }] of spec.ingress.entries()) {
    // Clients may connect to a listener of its own address or without interception by other means.
    if (bind !== "" || captureMode === CaptureMode.NONE) continue;
    const missing = port && ports && missingPort(ports, port.number);
    if (missing === undefined) continue;
    report(
      "MESH0041",
      ["spec", "ingress", i, "port", "number"],
      `the listener gets no connection: no selected workload has port ${port?.number}, at which clients would connect: ${missing.hint}`,
      missing.isOfService ? undefined : "Info",
    );
  }
}

const consequences: Readonly<Record<Action, string>> = {
  [Action.ALLOW]: "the rule allows no request",
  [Action.DENY]: "the rule denies no request",
  [Action.AUDIT]: "the rule matches no request",
  [Action.CUSTOM]: "the provider decides on no request",
};

function checkPolicy({ namespace, spec }: AuthorizationPolicyObject, context: AnalysisContext): void {
  if (spec.targetRef !== undefined || spec.targetRefs.length > 0) return;
  const { q } = context;
  const labels = spec.selector?.matchLabels ?? {};
  const everywhere = namespace === rootNamespace(q);
  const check = (ports: readonly string[], path: FieldPath, isNegated = false): void => {
    if (ports.length === 0 || (everywhere && spec.selector === undefined)) return;
    const found = q.call(workloadPorts, { ...(!everywhere && { namespace }), labels });
    if (found === undefined) return;
    const consequence = isNegated ? "the exclusion has no effect" : consequences[spec.action];
    checkPolicyPorts(ports, found, path, consequence, context);
  };
  for (const [i, { to, when }] of spec.rules.entries()) {
    for (const [j, { operation }] of to.entries()) {
      const path = ["spec", "rules", i, "to", j, "operation"];
      check(operation?.ports ?? [], [...path, "ports"]);
      check(operation?.notPorts ?? [], [...path, "notPorts"], true);
    }
    for (const [j, { key, values, notValues }] of when.entries()) {
      if (key !== "destination.port") continue;
      check(values, ["spec", "rules", i, "when", j, "values"]);
      check(notValues, ["spec", "rules", i, "when", j, "notValues"], true);
    }
  }
}

function checkPolicyPorts(
  ports: readonly string[],
  found: WorkloadPorts,
  path: FieldPath,
  consequence: string,
  { report }: AnalysisContext,
): void {
  const missing = ports.map((port) => missingPort(found, Number(port)));
  const none = missing.every((each) => each !== undefined);
  for (const [i, fault] of missing.entries())
    if (fault !== undefined)
      report(
        "MESH0041",
        [...path, i],
        `no selected workload ${fault.isOfService ? "has" : "declares"} port ${ports[i]}${none ? `, so that ${consequence}` : ""}: ${fault.hint}`,
        fault.isOfService ? undefined : "Info",
      );
}
