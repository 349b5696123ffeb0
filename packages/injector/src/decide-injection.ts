import { systemNamespaces } from "@istiod/config-schema";
import { reasonOf } from "@istiod/runtime";
import type { Pod } from "./pod.js";
import { isEmptySelector, type LabelSelector, selectorMatches } from "./label-selector.js";

/** The injection policy, as in `config` of the ConfigMap `istio-sidecar-injector`. */
export interface InjectionPolicy {
  /** The default for pods without label or annotation. Any other value disables injection. */
  readonly policy: "enabled" | "disabled";
  readonly neverInjectSelector?: readonly LabelSelector[];
  readonly alwaysInjectSelector?: readonly LabelSelector[];
}

/** The rule that decided, in order of precedence. */
export type DecisionReason =
  | "host-network"
  | "system-namespace"
  | "label"
  | "annotation"
  | "never-inject-selector"
  | "always-inject-selector"
  | "policy"
  | "invalid-policy";

export interface Decision {
  readonly inject: boolean;
  readonly reason: DecisionReason;
  /** Problems to log: an invalid value of the label or annotation, or an invalid selector. Both are ignored. */
  readonly warnings: readonly string[];
}

const injectKey = "sidecar.istio.io/inject";

/**
 * Decides whether a pod gets a sidecar: by host networking and system namespaces, then the pod's label, its annotation,
 * the selectors, and the policy (pkg/kube/inject/inject.go, `injectRequired`).
 */
export function decideInjection(pod: Pod, namespace: string, policy: InjectionPolicy): Decision {
  const warnings: string[] = [];
  const decision = (inject: boolean, reason: DecisionReason): Decision => ({ inject, reason, warnings });
  if (pod.spec?.hostNetwork === true) return decision(false, "host-network");
  if (systemNamespaces.has(namespace)) return decision(false, "system-namespace");
  if (policy.policy !== "enabled" && policy.policy !== "disabled") return decision(false, "invalid-policy");
  const labels = pod.metadata?.labels ?? {};
  const label = labels[injectKey];
  const requested = label ?? pod.metadata?.annotations?.[injectKey] ?? "";
  if (requested === "true" || requested === "false")
    return decision(requested === "true", label === undefined ? "annotation" : "label");
  if (requested !== "")
    warnings.push(`${injectKey} is ${JSON.stringify(requested)}, expected "true" or "false"; ignored`);
  const someMatches = (selectors: readonly LabelSelector[] = []): boolean =>
    selectors.some((selector) => matches(selector, labels, warnings));
  if (someMatches(policy.neverInjectSelector)) return decision(false, "never-inject-selector");
  if (someMatches(policy.alwaysInjectSelector)) return decision(true, "always-inject-selector");
  return decision(policy.policy === "enabled", "policy");
}

function matches(selector: LabelSelector, labels: Readonly<Record<string, string>>, warnings: string[]): boolean {
  try {
    return !isEmptySelector(selector) && selectorMatches(selector, labels);
  } catch (error) {
    warnings.push(reasonOf(error));
    return false;
  }
}
