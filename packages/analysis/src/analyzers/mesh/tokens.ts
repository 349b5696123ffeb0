import {
  authorizationPolicies,
  authorizationPolicyKind,
  type AuthorizationPolicyObject,
  type FieldPath,
} from "@istiod/config-schema";
import {
  AuthorizationPolicy_Action as Action,
  type Rule,
} from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { formatSelector } from "../../queries/pods.js";
import { hasRequestAuthentication, workloadsOfPolicy } from "../../queries/policy-workloads.js";

export const tokenAnalyzer: Analyzer = {
  name: "mesh.TokenAnalyzer",
  description: "Checks that a RequestAuthentication verifies the tokens that AuthorizationPolicies require",
  codes: ["MESH0045"],
  rules: [rule(authorizationPolicyKind, authorizationPolicies, checkPolicy)],
};

interface TokenCondition {
  readonly name: string;
  readonly path: FieldPath;
  /** The condition holds without a token: it only excludes values. */
  readonly isNegated: boolean;
}

function checkPolicy({ namespace, spec }: AuthorizationPolicyObject, { q, report }: AnalysisContext): void {
  const conditions = spec.rules.flatMap((each, i) => tokenConditions(each, ["spec", "rules", i]));
  if (conditions.length === 0) return;
  const open = workloadsOfPolicy(q, { ...spec, namespace }).find((pod) => !hasRequestAuthentication(q, pod));
  if (open === undefined) return;
  const labels = formatSelector(open.labels);
  const workloads = `namespace ${open.namespace}${labels === "" ? "" : ` (${labels})`}`;
  for (const { name, path, isNegated } of conditions)
    report(
      "MESH0045",
      path,
      `${name} needs a token that was verified, and no RequestAuthentication applies to workloads of ${workloads}: ${consequence(spec.action, isNegated)}; add a RequestAuthentication for them`,
    );
}

function consequence(action: Action, isNegated: boolean): string {
  if (isNegated)
    return action === Action.ALLOW
      ? "the condition holds for every request, with or without a token"
      : action === Action.DENY
        ? "the condition holds for every request, so that requests with a valid token are denied, too"
        : "the condition holds for every request";
  if (action === Action.ALLOW)
    return "the rule allows no request, so that requests that no other rule allows are denied";
  return action === Action.DENY ? "the rule denies no request" : "the rule matches no request";
}

const negatable = [
  ["requestPrincipals", false],
  ["notRequestPrincipals", true],
] as const;

function tokenConditions({ from, when }: Rule, path: FieldPath): readonly TokenCondition[] {
  return [
    ...from.flatMap(({ source }, i) =>
      negatable
        .filter(([field]) => (source?.[field].length ?? 0) > 0)
        .map(([name, isNegated]) => ({ name, path: [...path, "from", i, "source", name], isNegated })),
    ),
    ...when.flatMap(({ key, values }, i) =>
      key.startsWith("request.auth.")
        ? [{ name: key, path: [...path, "when", i, "key"], isNegated: values.length === 0 }]
        : [],
    ),
  ];
}
