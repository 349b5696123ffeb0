import { create } from "@bufbuild/protobuf";
import { type Policy, PolicySchema, RBAC_Action } from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import type { Rule } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import type { Attribute, RuleContext } from "./attribute.js";
import { conditionAttribute } from "./condition-attributes.js";
import { destinationPort, host, method, path } from "./operation-attributes.js";
import { anyPermission, everyPermission, notPermission, type Permission, somePermission } from "./permission.js";
import { anyPrincipal, everyPrincipal, notPrincipal, type Principal, somePrincipal } from "./principal.js";
import {
  remoteIp,
  requestPrincipal,
  sourceIp,
  sourceNamespace,
  sourcePrincipal,
  sourceServiceAccount,
  sourceTrustDomain,
} from "./source-attributes.js";
import { expandTrustDomains, type TrustDomains, withTrustDomainAliases } from "./trust-domains.js";

interface RuleOptions extends RuleContext {
  /** True if the chain has no HTTP connection manager, so that request attributes cannot be expressed. */
  readonly tcp: boolean;
  readonly action: RBAC_Action;
  readonly trustDomains: TrustDomains;
  /** Reports whether the client evaluates a term. Others count as attributes that cannot be expressed. Default: all. */
  readonly canEvaluate?: (term: Permission | Principal) => boolean;
}

/** Some of the values, and none of the others. */
interface Requirement<T> {
  readonly attribute: Attribute<T>;
  readonly values: readonly string[];
  readonly notValues: readonly string[];
}

interface TermAlgebra<T> {
  readonly any: T;
  every(terms: readonly T[]): T;
  some(terms: readonly T[]): T;
  not(term: T): T;
}

const permissions: TermAlgebra<Permission> = {
  any: anyPermission,
  every: everyPermission,
  some: somePermission,
  not: notPermission,
};
const principals: TermAlgebra<Principal> = {
  any: anyPrincipal,
  every: everyPrincipal,
  some: somePrincipal,
  not: notPrincipal,
};

/**
 * Translates a rule of an AuthorizationPolicy to an RBAC policy. An ALLOW rule with an attribute that cannot be
 * expressed on the chain matches nothing (undefined), so that it allows less. In other rules such attributes are
 * ignored, so that they deny more. An unknown attribute invalidates any rule.
 * Source: pilot/pkg/security/authz/model.
 */
export function rulePolicy(rule: Rule, options: RuleOptions): Policy | undefined {
  const whenPermissions: Requirement<Permission>[] = [];
  const whenPrincipals: Requirement<Principal>[] = [];
  for (const { key, values, notValues } of rule.when) {
    const condition = conditionAttribute(key);
    if (condition === undefined) return undefined;
    if (condition.side === "permission") {
      whenPermissions.push({ attribute: condition.attribute, values, notValues });
    } else {
      const expand = { principal: withTrustDomainAliases, domain: expandTrustDomains }[condition.trust ?? "principal"];
      const trusted = (list: readonly string[]): readonly string[] =>
        condition.trust === undefined ? list : expand(list, options.trustDomains);
      whenPrincipals.push({ attribute: condition.attribute, values: trusted(values), notValues: trusted(notValues) });
    }
  }

  const from =
    rule.from.length === 0
      ? [whenPrincipals]
      : rule.from.map(({ source }) => [...sourceRequirements(source, options), ...whenPrincipals]);
  const to =
    rule.to.length === 0
      ? [whenPermissions]
      : rule.to.map(({ operation }) => [...operationRequirements(operation), ...whenPermissions]);
  const permitted = to.map((requirements) => allOf(requirements, permissions, options));
  const identified = from.map((requirements) => allOf(requirements, principals, options));
  if (!permitted.every((term) => term !== undefined) || !identified.every((term) => term !== undefined))
    return undefined;
  return create(PolicySchema, { permissions: permitted, principals: identified });
}

type Source = NonNullable<Rule["from"][number]["source"]>;
type Operation = NonNullable<Rule["to"][number]["operation"]>;

function sourceRequirements(s: Source | undefined, { trustDomains }: RuleOptions): readonly Requirement<Principal>[] {
  if (s === undefined) return [];
  const aliases = (list: readonly string[]): readonly string[] => withTrustDomainAliases(list, trustDomains);
  const domains = (list: readonly string[]): readonly string[] => expandTrustDomains(list, trustDomains);
  return [
    { attribute: sourcePrincipal, values: aliases(s.principals), notValues: aliases(s.notPrincipals) },
    { attribute: requestPrincipal, values: s.requestPrincipals, notValues: s.notRequestPrincipals },
    { attribute: sourceServiceAccount, values: s.serviceAccounts, notValues: s.notServiceAccounts },
    { attribute: sourceTrustDomain, values: domains(s.trustDomains), notValues: domains(s.notTrustDomains) },
    { attribute: sourceNamespace, values: s.namespaces, notValues: s.notNamespaces },
    { attribute: remoteIp, values: s.remoteIpBlocks, notValues: s.notRemoteIpBlocks },
    { attribute: sourceIp, values: s.ipBlocks, notValues: s.notIpBlocks },
  ];
}

function operationRequirements(o: Operation | undefined): readonly Requirement<Permission>[] {
  if (o === undefined) return [];
  return [
    { attribute: host, values: o.hosts, notValues: o.notHosts },
    { attribute: method, values: o.methods, notValues: o.notMethods },
    { attribute: path, values: o.paths, notValues: o.notPaths },
    { attribute: destinationPort, values: o.ports, notValues: o.notPorts },
  ];
}

function allOf<T extends Permission | Principal>(
  requirements: readonly Requirement<T>[],
  algebra: TermAlgebra<T>,
  options: RuleOptions,
): T | undefined {
  const terms: T[] = [];
  for (const { attribute, values, notValues } of requirements) {
    const positive = anyOf(attribute, values, algebra, options);
    const negative = anyOf(attribute, notValues, algebra, options);
    if (positive === "void" || negative === "void") return undefined;
    if (positive !== undefined) terms.push(positive);
    if (negative !== undefined) terms.push(algebra.not(negative));
  }
  return algebra.every(terms.length === 0 ? [algebra.any] : terms);
}

function anyOf<T extends Permission | Principal>(
  attribute: Attribute<T>,
  values: readonly string[],
  algebra: TermAlgebra<T>,
  options: RuleOptions,
): T | "void" | undefined {
  if (values.length === 0) return undefined;
  const isSupported = !(options.tcp && attribute.httpOnly === true);
  const strict = options.action === RBAC_Action.ALLOW;
  const expressed = (term: T | undefined): readonly T[] =>
    term === undefined || options.canEvaluate?.(term) === false ? [] : [term];
  if ("all" in attribute) {
    const [term] = isSupported ? expressed(attribute.all(values, options)) : [];
    return term ?? (strict ? "void" : undefined);
  }
  const translated = isSupported ? values.flatMap((value) => expressed(attribute.each(value, options))) : [];
  if (strict && translated.length < values.length) return "void";
  return translated.length === 0 ? undefined : algebra.some(translated);
}
