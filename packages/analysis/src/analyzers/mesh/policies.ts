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

export const authorizationAnalyzer: Analyzer = {
  name: "mesh.AuthorizationAnalyzer",
  description: "Checks for AuthorizationPolicies that deny everything, and for rules that can never match",
  codes: ["MESH0014", "MESH0015"],
  rules: [rule(authorizationPolicyKind, authorizationPolicies, checkPolicy)],
};

function checkPolicy({ spec }: AuthorizationPolicyObject, context: AnalysisContext): void {
  const { report } = context;
  if (spec.action === Action.ALLOW && spec.rules.length === 0) {
    report(
      "MESH0015",
      ["spec"],
      "the policy allows nothing, so every request to the selected workloads that no other ALLOW policy allows is denied; to allow everything, add an empty rule: rules: [{}]",
    );
  }
  for (const [i, found] of spec.rules.entries()) {
    if (spec.action === Action.DENY && isEmpty(found)) {
      report(
        "MESH0015",
        ["spec", "rules", i],
        "the rule has no condition, so every request to the selected workloads is denied",
      );
    }
    checkRule(found, ["spec", "rules", i], context);
  }
}

function isEmpty({ from, to, when }: Rule): boolean {
  return from.length === 0 && to.length === 0 && when.length === 0;
}

/** Pairs of a list and its negation. A rule whose values are all negated never matches. */
const exclusions = [
  ["principals", "notPrincipals"],
  ["namespaces", "notNamespaces"],
  ["ipBlocks", "notIpBlocks"],
  ["requestPrincipals", "notRequestPrincipals"],
] as const;

const operationExclusions = [
  ["hosts", "notHosts"],
  ["ports", "notPorts"],
  ["methods", "notMethods"],
  ["paths", "notPaths"],
] as const;

function checkRule({ from, to, when }: Rule, path: FieldPath, { report }: AnalysisContext): void {
  for (const [i, { key, values, notValues }] of when.entries()) {
    if (key === "source.principal")
      for (const [field, principals] of Object.entries({ values, notValues }))
        checkSchemes(principals, [...path, "when", i, field], report);
    checkExclusion(values, notValues, [...path, "when", i, "values"], "notValues", report);
  }
  for (const [i, { source }] of from.entries()) {
    if (source === undefined) continue;
    const at = [...path, "from", i, "source"];
    for (const field of ["principals", "notPrincipals"] as const) checkSchemes(source[field], [...at, field], report);
    for (const [field, not] of exclusions) checkExclusion(source[field], source[not], [...at, field], not, report);
  }
  for (const [i, { operation }] of to.entries()) {
    if (operation === undefined) continue;
    const at = [...path, "to", i, "operation"];
    for (const [j, method] of operation.methods.entries()) {
      if (/^[a-z]+$/.test(method))
        report(
          "MESH0014",
          [...at, "methods", j],
          `method ${JSON.stringify(method)} never matches, because methods are case-sensitive; did you mean ${JSON.stringify(method.toUpperCase())}?`,
        );
    }
    for (const [j, value] of operation.paths.entries()) {
      if (!/^[/*{]/.test(value))
        report(
          "MESH0014",
          [...at, "paths", j],
          `path ${JSON.stringify(value)} never matches, because paths begin with a slash; did you mean ${JSON.stringify(`/${value}`)}?`,
        );
    }
    for (const [field, not] of operationExclusions)
      checkExclusion(operation[field], operation[not], [...at, field], not, report);
  }
}

function checkSchemes(principals: readonly string[], path: FieldPath, report: AnalysisContext["report"]): void {
  for (const [i, principal] of principals.entries())
    if (principal.startsWith("spiffe://"))
      report(
        "MESH0014",
        [...path, i],
        `principal ${JSON.stringify(principal)} never matches, because principals are written without spiffe://; did you mean ${JSON.stringify(principal.slice(9))}?`,
      );
}

function checkExclusion(
  values: readonly string[],
  excluded: readonly string[],
  path: FieldPath,
  not: string,
  report: AnalysisContext["report"],
): void {
  if (values.length === 0 || !values.every((value) => excluded.includes(value) || excluded.includes("*"))) return;
  report("MESH0014", path, `never matches, because ${not} excludes every value: ${values.join(", ")}`);
}
