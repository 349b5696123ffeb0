import {
  backendTlsPolicies,
  backendTlsPoliciesByTarget,
  type BackendTlsPolicyObject,
  type SectionReference,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import type { StatusFault } from "../status/conditions.js";
import { type BuiltBackendTls, buildBackendTls } from "./backend-tls.js";
import { isIgnoredPolicy, policyTarget, type PolicyTarget } from "./policy-target.js";

/** One of the targets of a BackendTLSPolicy. */
export interface TlsPolicyTarget {
  readonly ref: SectionReference;
  /** Undefined if it does not exist. */
  readonly target?: PolicyTarget;
  readonly hosts: readonly string[];
  /** Numbers of the ports that it is for: that of its section, else all. */
  readonly ports: readonly number[];
  /** The fault because of which the policy does not apply to it. */
  readonly fault?: StatusFault;
}

/** The TLS settings that a BackendTLSPolicy (`namespace/name`) declares; undefined if it is ignored, or absent. */
export const tlsOfPolicy = query("gatewayApiTlsOfPolicy", (q, key: string): BuiltBackendTls | undefined => {
  const policy = q.read(backendTlsPolicies, key);
  return policy === undefined || isIgnoredPolicy(policy)
    ? undefined
    : buildBackendTls(q, policy.spec.validation, { namespace: policy.namespace });
});

/** The targets of a BackendTLSPolicy (`namespace/name`). None if it is ignored. */
export const targetsOfTlsPolicy = query(
  "gatewayApiTargetsOfTlsPolicy",
  (q, key: string): readonly TlsPolicyTarget[] => {
    const policy = q.read(backendTlsPolicies, key);
    if (policy === undefined || isIgnoredPolicy(policy)) return [];
    return policy.spec.targetRefs.map((ref) => targetOf(q, policy, ref));
  },
);

function targetOf(q: QueryContext, policy: BackendTlsPolicyObject, ref: SectionReference): TlsPolicyTarget {
  const { namespace, name } = policy;
  const notFound = (why: string): TlsPolicyTarget => ({
    ref,
    hosts: [],
    ports: [],
    fault: { reason: "TargetNotFound", message: `targetRefs invalid: ${why}` },
  });
  const found = policyTarget(q, ref, namespace);
  if ("fault" in found) return notFound(found.fault);
  const { target, hosts, ports } = found;
  const { sectionName } = ref;
  const named = ports.filter((port) => sectionName === undefined || port.name === sectionName);
  if (sectionName !== undefined && named.length === 0)
    return notFound(`sectionName "${sectionName}" does not exist in ${ref.kind} ${namespace}/${ref.name}`);
  const winner = q.call(firstPolicyFor, { namespace, ref });
  const fault: StatusFault = {
    reason: "Conflicted",
    message: `Conflicts with BackendTLSPolicy "${winner ?? ""}" targeting the same backend`,
  };
  return { ref, target, hosts, ports: named.map(({ number }) => number), ...(winner !== name && { fault }) };
}

/** The name of the oldest BackendTLSPolicy of a namespace with a target, which applies to it. */
const firstPolicyFor = query(
  "gatewayApiFirstTlsPolicyFor",
  (q, { namespace, ref }: { readonly namespace: string; readonly ref: SectionReference }): string | undefined => {
    const [first] = q
      .read(backendTlsPoliciesByTarget, `${namespace}/${ref.kind}/${ref.name}`)
      .filter((policy) => !isIgnoredPolicy(policy) && policy.spec.targetRefs.some((other) => isSameTarget(ref, other)))
      .sort((a, b) => a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1));
    return first?.name;
  },
);

function isSameTarget(a: SectionReference, b: SectionReference): boolean {
  return a.group === b.group && a.kind === b.kind && a.name === b.name && a.sectionName === b.sectionName;
}
