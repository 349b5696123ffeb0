import type { Pod } from "../pod.js";
import { isEmptySelector, type LabelSelector, selectorMatches } from "./label-selector.js";

/** Who is injected, as the ConfigMap `istio-sidecar-injector` says under `config`. */
export interface InjectionPolicy {
  /** What happens to a pod that says nothing. Anything else than these two disables injection for all. */
  readonly policy: "enabled" | "disabled";
  readonly neverInjectSelector?: readonly LabelSelector[];
  readonly alwaysInjectSelector?: readonly LabelSelector[];
}

/** What settled it, in the order in which they are looked at. */
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
  /**
   * What was passed over on the way, for the log: a label with another value than true or false, a selector that cannot
   * be read.
   */
  readonly warnings: readonly string[];
}

/** Namespaces whose pods are never injected. */
const systemNamespaces = ["kube-system", "kube-public", "kube-node-lease", "local-path-storage"];

const key = "sidecar.istio.io/inject";

/**
 * Whether a pod is to be given a sidecar. Host networking and system namespaces come before everything that is said;
 * then the pod's label, its annotation, the selectors, and the policy. Source: pkg/kube/inject/inject.go,
 * `injectRequired`.
 */
export function decideInjection(pod: Pod, namespace: string, policy: InjectionPolicy): Decision {
  const warnings: string[] = [];
  const decided = (inject: boolean, reason: DecisionReason): Decision => ({ inject, reason, warnings });
  if (pod.spec?.hostNetwork === true) return decided(false, "host-network");
  if (systemNamespaces.includes(namespace)) return decided(false, "system-namespace");
  if (policy.policy !== "enabled" && policy.policy !== "disabled") return decided(false, "invalid-policy");
  const labels = pod.metadata?.labels ?? {};
  const label = labels[key];
  const said = label ?? pod.metadata?.annotations?.[key] ?? "";
  if (said === "true" || said === "false")
    return decided(said === "true", label === undefined ? "annotation" : "label");
  if (said !== "") warnings.push(`${key} is ${JSON.stringify(said)}, expected "true" or "false": it does not count`);
  const some = (selectors: readonly LabelSelector[] = []): boolean =>
    selectors.some((selector) => counts(selector, labels, warnings));
  if (some(policy.neverInjectSelector)) return decided(false, "never-inject-selector");
  if (some(policy.alwaysInjectSelector)) return decided(true, "always-inject-selector");
  return decided(policy.policy === "enabled", "policy");
}

function counts(selector: LabelSelector, labels: Readonly<Record<string, string>>, warnings: string[]): boolean {
  try {
    return !isEmptySelector(selector) && selectorMatches(selector, labels);
  } catch (error) {
    warnings.push(error instanceof Error ? error.message : String(error));
    return false;
  }
}
