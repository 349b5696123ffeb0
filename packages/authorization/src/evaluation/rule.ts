import type { Rule } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import type { Access, RuleContext } from "./access.js";
import type { Attribute } from "./attribute.js";
import { conditionAttribute } from "./conditions.js";
import { destinationPort, host, method, path } from "./request-attributes.js";
import {
  remoteIp,
  requestPrincipal,
  sourceIp,
  sourceNamespace,
  sourcePrincipal,
  sourceServiceAccount,
  sourceTrustDomain,
} from "./source-attributes.js";

/** The verdict on one field of a rule. */
export interface ConditionVerdict {
  /** Such as `from[0].source.principals` or `when[1].values`. */
  readonly field: string;
  /** The key of a `when` condition. */
  readonly key?: string;
  readonly values: readonly string[];
  /** Reports whether the field admits the request; a `not…` field does if no value matches. */
  readonly holds: boolean;
  /** The attribute's value in the request. */
  readonly actual: string;
  /** Reason why the proxy cannot evaluate the field: it is ignored, or the rule never matches. */
  readonly unusable?: string;
}

/** The verdict on one rule of a policy. */
export interface RuleVerdict {
  /** Index in `rules`. */
  readonly index: number;
  readonly matches: boolean;
  readonly conditions: readonly ConditionVerdict[];
  /** Reason why the rule never matches on this port, whatever the request. */
  readonly never?: string;
}

export interface RuleOptions extends RuleContext {
  /** True for ALLOW, whose rules must not allow more because a field is not known; others must not deny less. */
  readonly allows: boolean;
}

/** Evaluates a rule: some `from`, some `to` and every `when` must match. */
export function evaluateRule(rule: Rule, index: number, access: Access, options: RuleOptions): RuleVerdict {
  const unknown = rule.when.find(({ key }) => conditionAttribute(key) === undefined);
  if (unknown !== undefined)
    return { index, matches: false, conditions: [], never: `the key ${JSON.stringify(unknown.key)} is unknown` };
  const verdictsOf = (requirements: readonly Requirement[]): readonly Evaluated[] =>
    requirements.flatMap((requirement) => evaluate(requirement, access, options));
  const from = rule.from.map(({ source }, at) => verdictsOf(sourceRequirements(source, `from[${at}].source`)));
  const to = rule.to.map(({ operation }, at) => verdictsOf(operationRequirements(operation, `to[${at}].operation`)));
  const when = verdictsOf(
    rule.when.map(({ key, values, notValues }, at) => ({
      field: `when[${at}]`,
      key,
      attribute: conditionAttribute(key),
      values,
      notValues,
    })),
  );
  const all = [...from.flat(), ...to.flat(), ...when];
  const conditions = all.map(({ verdict }) => verdict);
  const voided = all.find(({ voids }) => voids);
  if (voided !== undefined)
    return { index, matches: false, conditions, never: `${voided.verdict.field}: ${voided.verdict.unusable}` };
  const holds = (list: readonly Evaluated[]): boolean => list.every(({ verdict }) => verdict.holds);
  const some = (lists: readonly (readonly Evaluated[])[]): boolean => lists.length === 0 || lists.some(holds);
  return { index, matches: some(from) && some(to) && holds(when), conditions };
}

interface Requirement {
  readonly field: string;
  readonly notField?: string;
  readonly key?: string;
  readonly attribute: Attribute | undefined;
  readonly values: readonly string[];
  readonly notValues: readonly string[];
}

interface Evaluated {
  readonly verdict: ConditionVerdict;
  /** True if the rule never matches because of it. */
  readonly voids: boolean;
}

function evaluate(requirement: Requirement, access: Access, options: RuleOptions): readonly Evaluated[] {
  const { field, notField, key, attribute, values, notValues } = requirement;
  if (attribute === undefined) return [];
  const named = key === undefined ? {} : { key };
  const names = key === undefined ? [field, notField ?? field] : [`${field}.values`, `${field}.notValues`];
  return [values, notValues].flatMap((list, negated) => {
    if (list.length === 0) return [];
    const { matched, unusable, isIgnored } = matchSome(attribute, list, access, options);
    const voids = options.allows && unusable !== undefined;
    const holds = voids ? false : isIgnored || matched !== (negated === 1);
    const verdict = { field: names[negated] ?? field, ...named, values: list, holds, actual: attribute.actual(access) };
    return [{ verdict: unusable === undefined ? verdict : { ...verdict, unusable }, voids }];
  });
}

/** Compares the values that the proxy can compare. If there are none, the field is ignored. */
function matchSome(
  attribute: Attribute,
  list: readonly string[],
  access: Access,
  context: RuleContext,
): { readonly matched: boolean; readonly unusable: string | undefined; readonly isIgnored: boolean } {
  if (attribute.httpOnly === true && access.http === undefined)
    return { matched: false, unusable: "a TCP connection has no HTTP attributes", isIgnored: true };
  const expanded = attribute.expand?.(list, context) ?? list;
  const reasons = expanded.map((value) => attribute.unusable?.(value, access));
  const usable = expanded.filter((_, at) => reasons[at] === undefined);
  return {
    matched: usable.some((value) => attribute.matches(value, access, context)),
    unusable: reasons.find((reason) => reason !== undefined),
    isIgnored: usable.length === 0,
  };
}

type Source = Rule["from"][number]["source"];
type Operation = Rule["to"][number]["operation"];

function sourceRequirements(source: Source, at: string): readonly Requirement[] {
  if (source === undefined) return [];
  const of = (attribute: Attribute, name: keyof typeof source, notName: keyof typeof source): Requirement => ({
    field: `${at}.${name}`,
    notField: `${at}.${notName}`,
    attribute,
    values: source[name] as readonly string[],
    notValues: source[notName] as readonly string[],
  });
  return [
    of(sourcePrincipal, "principals", "notPrincipals"),
    of(requestPrincipal, "requestPrincipals", "notRequestPrincipals"),
    of(sourceServiceAccount, "serviceAccounts", "notServiceAccounts"),
    of(sourceTrustDomain, "trustDomains", "notTrustDomains"),
    of(sourceNamespace, "namespaces", "notNamespaces"),
    of(remoteIp, "remoteIpBlocks", "notRemoteIpBlocks"),
    of(sourceIp, "ipBlocks", "notIpBlocks"),
  ];
}

function operationRequirements(operation: Operation, at: string): readonly Requirement[] {
  if (operation === undefined) return [];
  const of = (
    attribute: Attribute,
    name: "hosts" | "methods" | "paths" | "ports",
    notName: "notHosts" | "notMethods" | "notPaths" | "notPorts",
  ): Requirement => ({
    field: `${at}.${name}`,
    notField: `${at}.${notName}`,
    attribute,
    values: operation[name],
    notValues: operation[notName],
  });
  return [
    of(host, "hosts", "notHosts"),
    of(method, "methods", "notMethods"),
    of(path, "paths", "notPaths"),
    of(destinationPort, "ports", "notPorts"),
  ];
}
