import { authorizationPolicies } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  AuthorizationPolicy_Action as Action,
  type Rule,
} from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { httpAttribute, modeOfPort, rootNamespace, workloadPeerModes } from "@istiod/push-context";
import { isUndeclared, kubernetesPortProtocol } from "@istiod/service-discovery";
import { selectedPods } from "./pods.js";
import { servedPorts } from "./served-ports.js";

/** A rule that decides by HTTP attributes about ports without a declared protocol, over mutual TLS. */
export interface RuleOfUndeclaredPorts {
  readonly action: "ALLOW" | "DENY";
  /** Index in `spec.rules`. */
  readonly index: number;
  /** An attribute of the rule that only HTTP has. */
  readonly attribute: string;
  /** Such ports, as `shop/cart:8080`; sorted. */
  readonly ports: readonly string[];
}

/**
 * The rules of an AuthorizationPolicy that depend on the detection of HTTP. Over mutual TLS, a server's proxy detects
 * it only if the client's one announces it.
 */
export const rulesOfUndeclaredPorts = query(
  "rulesOfUndeclaredPorts",
  (q, key: string): readonly RuleOfUndeclaredPorts[] => {
    const policy = q.read(authorizationPolicies, key);
    if (policy === undefined) return [];
    const action = ({ [Action.ALLOW]: "ALLOW", [Action.DENY]: "DENY" } as const)[policy.spec.action as 0 | 1];
    const rules = policy.spec.rules.map((rule, index) => ({ rule, index, attribute: httpAttribute(rule) }));
    if (action === undefined || rules.every(({ attribute }) => attribute === undefined)) return [];
    const undeclared = undeclaredPorts(q, policy.namespace, policy.spec.selector?.matchLabels ?? {});
    return rules.flatMap(({ rule, index, attribute }) => {
      const ports = undeclared.filter(({ target }) => isAbout(rule, target)).map(({ name }) => name);
      return attribute === undefined || ports.length === 0 ? [] : [{ action, index, attribute, ports }];
    });
  },
);

interface UndeclaredPort {
  readonly name: string;
  /** Port of the workload. */
  readonly target: number;
}

/** Returns the ports without a declared protocol of the workloads of a policy, unless they accept no mutual TLS. */
function undeclaredPorts(
  q: QueryContext,
  namespace: string,
  labels: Readonly<Record<string, string>>,
): readonly UndeclaredPort[] {
  const found = new Map<string, UndeclaredPort>();
  for (const pod of q.call(selectedPods, { ...(namespace !== rootNamespace(q) && { namespace }), labels })) {
    const modes = q.call(workloadPeerModes, { namespace: pod.namespace, labels: pod.labels });
    for (const { service, port, target } of servedPorts(q, pod)) {
      if (target === undefined || !isUndeclared(kubernetesPortProtocol(port))) continue;
      const name = `${pod.namespace}/${service}:${port.port}`;
      if (modeOfPort(modes, target) !== "DISABLE") found.set(`${name} ${target}`, { name, target });
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Reports whether a rule may apply to a port of the workload. */
function isAbout({ to }: Rule, port: number): boolean {
  const may = ({ ports = [], notPorts = [] }: { ports?: string[]; notPorts?: string[] }): boolean =>
    (ports.length === 0 || ports.includes(String(port))) && !notPorts.includes(String(port));
  return to.length === 0 || to.some(({ operation }) => may(operation ?? {}));
}

/**
 * Describes what becomes of a rule about connections that are not known to carry HTTP, as the predicate of a sentence
 * whose subject is the rule.
 */
export function consequenceWithoutHttp({ action, attribute, ports }: RuleOfUndeclaredPorts): string {
  const where = `at ${ports.slice(0, portsNamed).join(", ")}${ports.length > portsNamed ? ", …" : ""}`;
  return action === "ALLOW"
    ? `allows nothing ${where}, because only HTTP has ${attribute}`
    : `denies more than meant ${where}: it applies without ${attribute}, which only HTTP has`;
}

const portsNamed = 3;
