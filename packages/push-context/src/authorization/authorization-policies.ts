import { type AuthorizationPolicyObject, authorizationPoliciesByNamespace } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import {
  AuthorizationPolicy_Action as Action,
  type Rule,
} from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { rootNamespace } from "../mesh/mesh-config.js";
import { oldestFirst } from "./oldest-first.js";
import { namespaceAmong } from "./own-namespace.js";
import { appliesToClient } from "./policy-attachment.js";

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

/** The AuthorizationPolicies that apply to the client. Source: pilot/pkg/model/authorization.go. */
export const applicableAuthorizationPolicies = query("applicableAuthorizationPolicies", (q): ApplicablePolicies => {
  const root = rootNamespace(q);
  const others = q.keys(authorizationPoliciesByNamespace).filter((namespace) => namespace !== root);
  const own = others.length === 0 ? undefined : q.ask(namespaceAmong, others);
  const found = [root, ...(own === undefined ? [] : [own])].flatMap((namespace) =>
    q.call(policiesOfNamespace, namespace).filter(({ spec }) => appliesToClient(q, { ...spec, namespace })),
  );
  const of = (action: Action): readonly ApplicablePolicy[] =>
    found.filter(({ spec }) => spec.action === action).map(applicable);
  return { custom: of(Action.CUSTOM), audit: of(Action.AUDIT), deny: of(Action.DENY), allow: of(Action.ALLOW) };
});

const policiesOfNamespace = query(
  "authorizationPoliciesOfNamespace",
  (q, namespace: string): readonly AuthorizationPolicyObject[] =>
    [...q.read(authorizationPoliciesByNamespace, namespace)].sort(oldestFirst),
);

function applicable({ namespace, name, annotations, spec }: AuthorizationPolicyObject): ApplicablePolicy {
  return {
    namespace,
    name,
    dryRun: ["1", "t", "T", "TRUE", "true", "True"].includes(annotations["istio.io/dry-run"] ?? ""),
    provider: spec.actionDetail.case === "provider" ? spec.actionDetail.value.name : "",
    rules: spec.rules,
  };
}
