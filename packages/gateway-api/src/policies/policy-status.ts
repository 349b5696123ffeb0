import {
  backends,
  backendTlsPolicies,
  backendTrafficPolicies,
  type LocalReference,
  type ObjectReference,
  type SectionReference,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { controllers } from "../classes/built-in-classes.js";
import { features } from "../settings/features.js";
import { condition, type StatusCondition, type StatusFault, withNotes } from "../status/conditions.js";
import { gatewaysOfBackend } from "./backend-gateways.js";
import { tlsOfBackend } from "./backend-resource.js";
import { targetsOfTlsPolicy, tlsOfPolicy } from "./backend-tls-policy.js";
import { targetsOfTrafficPolicy } from "./backend-traffic-policy.js";
import { ignoreAnnotation, isIgnoredPolicy, type PolicyTarget } from "./policy-target.js";
import { gatewayApiGroup } from "../names.js";

/** The status of a policy for one of its ancestors: a backend, for clients in the mesh, or a Gateway. */
export interface AncestorStatus {
  readonly ancestorRef: ObjectReference & { readonly sectionName?: string };
  readonly controllerName: string;
  readonly conditions: readonly StatusCondition[];
}

/** The status of a policy or of an XBackend, without times and generations. */
export interface PolicyStatus {
  /** Those of istiod. The entries of other controllers stay. */
  readonly ancestors: readonly AncestorStatus[];
}

/** The most ancestors that the status of a policy, and that of an XBackend, can have. */
const mostAncestors = { policy: 16, backend: 32 };

const valid = (reason: string): StatusFault => ({ reason, message: "Configuration is valid" });

/** Returns the condition Accepted. A note on a part without effect is given unless there is a fault. */
function acceptedCondition(note: string | undefined, fault: StatusFault | undefined): StatusCondition {
  const accepted = condition("Accepted", valid("Accepted"), fault);
  return fault === undefined && note !== undefined ? withNotes(accepted, [note]) : accepted;
}

/** The status of a BackendTLSPolicy (`namespace/name`); undefined if there is none. */
export const backendTlsPolicyStatus = query("gatewayApiTlsPolicyStatus", (q, key: string): PolicyStatus | undefined => {
  const policy = q.read(backendTlsPolicies, key);
  if (policy === undefined || !features.enabled(q)) return undefined;
  const tls = q.call(tlsOfPolicy, key);
  if (tls === undefined) return ignoredStatus(policy.spec.targetRefs);
  const targets = q.call(targetsOfTlsPolicy, key);
  const conditionsFor = (fault: StatusFault | undefined): readonly StatusCondition[] => [
    acceptedCondition(tls.note, fault ?? tls.accepted),
    condition("ResolvedRefs", valid("ResolvedRefs"), tls.resolvedRefs),
  ];
  const ofTargets = targets.map(({ ref, fault }) => meshAncestor(ref, conditionsFor(fault)));
  const last = targets.findLast(({ fault }) => fault !== undefined)?.fault;
  const ofGateways = gatewaysOf(q, targets).map((gateway) =>
    gatewayAncestor(q, { name: gateway.slice(gateway.indexOf("/") + 1) }, conditionsFor(last)),
  );
  return { ancestors: [...ofTargets, ...ofGateways].slice(0, mostAncestors.policy) };
});

function gatewaysOf(q: QueryContext, targets: readonly { readonly target?: PolicyTarget }[]): readonly string[] {
  const found = targets.flatMap(({ target }) => (target === undefined ? [] : q.call(gatewaysOfBackend, target)));
  return [...new Set(found)].sort();
}

const unsupportedFields = "Istio does not support the following fields: sessionPersistence";
/** The condition of a policy with fields that istiod does not implement, in the words of the original. */
const partlySupported: StatusCondition = {
  type: "Accepted",
  status: "True",
  reason: "Accepted",
  message: `Configuration is valid, but ${unsupportedFields}`,
  notes: [unsupportedFields],
};

/** The status of an XBackendTrafficPolicy (`namespace/name`); undefined if there is none that istiod serves. */
export const backendTrafficPolicyStatus = query(
  "gatewayApiTrafficPolicyStatus",
  (q, key: string): PolicyStatus | undefined => {
    const policy = q.read(backendTrafficPolicies, key);
    if (policy === undefined || !features.enabled(q) || !features.alpha(q)) return undefined;
    if (isIgnoredPolicy(policy)) return ignoredStatus(policy.spec.targetRefs);
    const hasUnsupported = policy.spec.sessionPersistence !== undefined;
    const ancestors = q
      .call(targetsOfTrafficPolicy, key)
      .map(({ ref, fault }) =>
        meshAncestor(ref, [
          fault === undefined && hasUnsupported ? partlySupported : condition("Accepted", valid("Accepted"), fault),
        ]),
      );
    return { ancestors: ancestors.slice(0, mostAncestors.policy) };
  },
);

/** The status of an XBackend (`namespace/name`); undefined if there is none that istiod serves. */
export const backendStatus = query("gatewayApiBackendStatus", (q, key: string): PolicyStatus | undefined => {
  const backend = q.read(backends, key);
  if (backend === undefined || !features.enabled(q) || !features.alpha(q)) return undefined;
  const { namespace, name } = backend;
  const { tls, fault } = q.call(tlsOfBackend, key);
  const conditions = [
    acceptedCondition(tls?.note, fault ?? tls?.accepted),
    condition("ResolvedRefs", valid("ResolvedRefs"), tls?.resolvedRefs),
  ];
  const own = meshAncestor({ group: "gateway.networking.x-k8s.io", kind: "XBackend", name }, conditions);
  const ofGateways = q.call(gatewaysOfBackend, { kind: "XBackend", namespace, name }).map((gateway) => {
    const [gatewayNamespace = "", gatewayName = ""] = gateway.split("/");
    return gatewayAncestor(q, { namespace: gatewayNamespace, name: gatewayName }, conditions);
  });
  return { ancestors: [own, ...ofGateways].slice(0, mostAncestors.backend) };
});

function meshAncestor(
  { group, kind, name, sectionName }: SectionReference,
  conditions: readonly StatusCondition[],
): AncestorStatus {
  const ancestorRef = { group, kind, name, ...(sectionName !== undefined && { sectionName }) };
  return { ancestorRef, controllerName: controllers.waypoint, conditions };
}

function gatewayAncestor(
  q: QueryContext,
  at: { readonly namespace?: string; readonly name: string },
  conditions: readonly StatusCondition[],
): AncestorStatus {
  return {
    ancestorRef: { group: gatewayApiGroup, kind: "Gateway", ...at },
    controllerName: features.controllerName(q),
    conditions,
  };
}

/** Returns the status of a policy that its annotation excludes. */
function ignoredStatus(targetRefs: readonly (LocalReference & { readonly sectionName?: string })[]): PolicyStatus {
  const fault = { reason: "IgnoredByIstio", message: `Ignored by Istio due to annotation ${ignoreAnnotation}=true` };
  const ancestors = targetRefs.map((ref) => meshAncestor(ref, [condition("Accepted", fault, fault)]));
  return { ancestors: ancestors.slice(0, mostAncestors.policy) };
}
