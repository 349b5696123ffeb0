import {
  type AuthorizationPolicyObject,
  authorizationPoliciesByNamespace,
  rejectedAuthorizationPoliciesByNamespace,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  AuthorizationPolicy_Action as Action,
  type Rule,
} from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { rootNamespace } from "../mesh/mesh-config.js";
import { oldestFirst } from "../attachment/oldest-first.js";
import { namespaceAmong } from "../attachment/own-namespace.js";
import { appliesToClient } from "../attachment/policy-attachment.js";

/** An AuthorizationPolicy that applies to the client. */
export interface ApplicablePolicy {
  readonly namespace: string;
  readonly name: string;
  /** Evaluated and reported, but not enforced (annotation `istio.io/dry-run`). */
  readonly dryRun: boolean;
  /** The extension provider of a CUSTOM policy; otherwise empty. */
  readonly provider: string;
  readonly rules: readonly Rule[];
}

/** Policies by action: those of the root namespace first, then those of the client's; oldest first in each. */
export interface ApplicablePolicies {
  readonly custom: readonly ApplicablePolicy[];
  readonly audit: readonly ApplicablePolicy[];
  readonly deny: readonly ApplicablePolicy[];
  readonly allow: readonly ApplicablePolicy[];
}

/**
 * The AuthorizationPolicies that apply to the client. A rejected one without a good version denies everything.
 * Source: pilot/pkg/model/authorization.go.
 */
export const applicableAuthorizationPolicies = query("applicableAuthorizationPolicies", (q): ApplicablePolicies => {
  const found = applying(q, authorizationPoliciesByNamespace, policiesOfNamespace);
  const rejected = applying(q, rejectedAuthorizationPoliciesByNamespace, rejectedPoliciesOfNamespace);
  const of = (action: Action): readonly ApplicablePolicy[] =>
    found.filter(({ spec }) => spec.action === action).map(applicable);
  return {
    custom: of(Action.CUSTOM),
    audit: of(Action.AUDIT),
    deny: [...of(Action.DENY), ...rejected.map(inPlaceOfRejected)],
    allow: of(Action.ALLOW),
  };
});

/** Returns the policies of the root namespace and of the client's that apply to the client. */
function applying(
  q: QueryContext,
  byNamespace: typeof authorizationPoliciesByNamespace,
  policiesOf: typeof policiesOfNamespace,
): readonly AuthorizationPolicyObject[] {
  const root = rootNamespace(q);
  const others = q.keys(byNamespace).filter((namespace) => namespace !== root);
  const own = others.length === 0 ? undefined : q.ask(namespaceAmong, others);
  return [root, ...(own === undefined ? [] : [own])].flatMap((namespace) =>
    q.call(policiesOf, namespace).filter(({ spec }) => appliesToClient(q, { ...spec, namespace })),
  );
}

const policiesOfNamespace = query(
  "authorizationPoliciesOfNamespace",
  (q, namespace: string): readonly AuthorizationPolicyObject[] =>
    [...q.read(authorizationPoliciesByNamespace, namespace)].sort(oldestFirst),
);

const rejectedPoliciesOfNamespace = query(
  "rejectedAuthorizationPoliciesOfNamespace",
  (q, namespace: string): readonly AuthorizationPolicyObject[] =>
    [...q.read(rejectedAuthorizationPoliciesByNamespace, namespace)].sort(oldestFirst),
);

/** Names a substitute so that Envoy's logs tell it from a policy of the same name that applies. */
function inPlaceOfRejected(policy: AuthorizationPolicyObject): ApplicablePolicy {
  return applicable({ ...policy, name: `${policy.name} (rejected)` });
}

function applicable({ namespace, name, annotations, spec }: AuthorizationPolicyObject): ApplicablePolicy {
  return {
    namespace,
    name,
    dryRun: ["1", "t", "T", "TRUE", "true", "True"].includes(annotations["istio.io/dry-run"] ?? ""),
    provider: spec.actionDetail.case === "provider" ? spec.actionDetail.value.name : "",
    rules: spec.rules,
  };
}
