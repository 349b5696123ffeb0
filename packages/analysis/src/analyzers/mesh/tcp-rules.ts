import {
  authorizationPolicies,
  authorizationPoliciesByNamespace,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  type FieldPath,
  services,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import {
  AuthorizationPolicy_Action as Action,
  type Rule,
} from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { appliesToWorkload, rootNamespace } from "@istiod/push-context";
import { hasLabels, isTcp, kubernetesPortProtocol } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import type { PodProfile } from "../../queries/pods.js";
import { isGateway, workloadsOfPolicy } from "../../queries/policy-workloads.js";
import { portsOfWorkload, type WorkloadPort } from "../../queries/workload-ports.js";
import type { Labels } from "../../queries/workload-sources.js";
import { listNames } from "../../suggestions.js";

export const tcpRuleAnalyzer: Analyzer = {
  name: "mesh.TcpRuleAnalyzer",
  description: "Checks for rules of AuthorizationPolicies with conditions on HTTP requests that apply to other ports",
  codes: ["MESH0046"],
  rules: [rule(authorizationPolicyKind, authorizationPolicies, checkPolicy)],
};

function checkPolicy({ namespace, spec }: AuthorizationPolicyObject, { q, report }: AnalysisContext): void {
  if (spec.action !== Action.ALLOW && spec.action !== Action.DENY) return;
  const conditions = spec.rules.map((each, i) => httpConditions(each, ["spec", "rules", i]));
  if (conditions.every(({ length }) => length === 0)) return;
  const pods = workloadsOfPolicy(q, { ...spec, namespace }).filter((pod) => !isGateway(pod));
  for (const [i, each] of spec.rules.entries()) {
    const [first] = conditions[i] ?? [];
    if (first === undefined) continue;
    const ports = affectedPorts(q, each, spec.action, pods);
    if (ports.length === 0) continue;
    const names = listNames([...new Set((conditions[i] ?? []).map(({ name }) => name))]);
    report("MESH0046", first.path, message(spec.action, names, listNames(ports)));
  }
}

function message(action: Action, conditions: string, ports: string): string {
  const what = `${conditions} cannot be compared on connections to TCP port ${ports}`;
  return action === Action.ALLOW
    ? `${what}, where the rule is ignored: connections that no other ALLOW rule allows are denied; limit the rule to the HTTP ports (ports), and allow the others by a rule without conditions on requests`
    : `${what}, where the rule applies without them and so denies every connection that its other conditions match; limit the rule to the HTTP ports (ports)`;
}

/** Services with a TCP port, by cluster and namespace. */
const tcpServices = index(services, "withTcpPortByNamespace", ({ cluster, namespace, spec }) =>
  spec.ports.some((port) => isTcp(kubernetesPortProtocol(port))) ? [`${cluster}/${namespace}`] : [],
);

/** The selectors of these Services, by one of their labels as `name=value`: the one that the fewest of them have. */
const tcpSelectors = query("tcpSelectors", (q, bucket: string): ReadonlyMap<string, readonly Labels[]> => {
  const selectors = q
    .read(tcpServices, bucket)
    .flatMap(({ spec: { selector } }) => (selector === undefined ? [] : [selector]));
  const counts = new Map<string, number>();
  for (const selector of selectors)
    for (const label of labelsOf(selector)) counts.set(label, (counts.get(label) ?? 0) + 1);
  const countOf = (label: string): number => counts.get(label) ?? 0;
  const found = new Map<string, Labels[]>();
  for (const selector of selectors) {
    const labels = labelsOf(selector);
    if (labels.length === 0) continue;
    const rarest = labels.reduce((one, other) => (countOf(other) < countOf(one) ? other : one));
    const others = found.get(rarest);
    if (others === undefined) found.set(rarest, [selector]);
    else others.push(selector);
  }
  return found;
});

const labelsOf = (labels: Labels): readonly string[] => Object.entries(labels).map((label) => label.join("="));

/** Reports whether a Service with a TCP port selects a workload. Most workloads have none. */
function hasTcpPort(q: QueryContext, { cluster, namespace, labels }: PodProfile): boolean {
  const selectors = q.call(tcpSelectors, `${cluster}/${namespace}`);
  return (
    selectors.size > 0 &&
    labelsOf(labels).some((label) => selectors.get(label)?.some((selector) => hasLabels(labels, selector)))
  );
}

/** Returns the TCP ports of workloads to which a rule applies; of an ALLOW rule, those that no other rule allows. */
function affectedPorts(q: QueryContext, of: Rule, action: Action, pods: readonly PodProfile[]): readonly string[] {
  const found = new Set<string>();
  for (const pod of pods) {
    if (!hasTcpPort(q, pod)) continue;
    const served = portsOfWorkload(q, pod);
    const isHttpToo = (target: number): boolean =>
      served.some((port) => port.target === target && !isTcp(port.protocol) && port.protocol !== "UDP");
    for (const { target, protocol, service } of served) {
      if (target === undefined || !isTcp(protocol) || isHttpToo(target) || !includesPort(of, target)) continue;
      if (action === Action.ALLOW && isAllowedOtherwise(q, pod, target)) continue;
      found.add(describe({ target, service }));
    }
  }
  return [...found].sort();
}

function describe({ target, service }: Pick<WorkloadPort, "target" | "service">): string {
  return `${target} of Service ${service}`;
}

/** Reports whether a rule's operations include a port. */
function includesPort({ to, when }: Rule, port: number): boolean {
  const text = String(port);
  const operations = to.flatMap(({ operation }) => operation ?? []);
  const byOperations =
    operations.length === 0 ||
    operations.some(({ ports, notPorts }) => (ports.length === 0 || ports.includes(text)) && !notPorts.includes(text));
  return (
    byOperations &&
    when.every(
      ({ key, values, notValues }) =>
        key !== "destination.port" || ((values.length === 0 || values.includes(text)) && !notValues.includes(text)),
    )
  );
}

/** Reports whether an ALLOW rule without conditions on requests includes a port of a workload. */
function isAllowedOtherwise(q: QueryContext, pod: PodProfile, port: number): boolean {
  return [...new Set([rootNamespace(q), pod.namespace])]
    .flatMap((namespace) => q.read(authorizationPoliciesByNamespace, namespace))
    .filter(({ namespace, spec }) => spec.action === Action.ALLOW && appliesToWorkload(q, { ...spec, namespace }, pod))
    .some(({ spec }) => spec.rules.some((each) => httpConditions(each, []).length === 0 && includesPort(each, port)));
}

const ofOperations = ["hosts", "notHosts", "methods", "notMethods", "paths", "notPaths"] as const;
const ofSources = ["requestPrincipals", "notRequestPrincipals"] as const;

/** Returns the conditions of a rule that only HTTP requests have. */
function httpConditions(
  { from, to, when }: Rule,
  path: FieldPath,
): readonly { readonly name: string; readonly path: FieldPath }[] {
  return [
    ...to.flatMap(({ operation }, i) =>
      ofOperations
        .filter((field) => (operation?.[field].length ?? 0) > 0)
        .map((name) => ({ name, path: [...path, "to", i, "operation", name] })),
    ),
    ...from.flatMap(({ source }, i) =>
      ofSources
        .filter((field) => (source?.[field].length ?? 0) > 0)
        .map((name) => ({ name, path: [...path, "from", i, "source", name] })),
    ),
    ...when.flatMap(({ key }, i) =>
      /^request\.(headers|auth)/.test(key) ? [{ name: key, path: [...path, "when", i, "key"] }] : [],
    ),
  ];
}
