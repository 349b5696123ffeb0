import { collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../../config-object.js";
import type { Fields } from "../../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import type { Kind } from "../../kind.js";
import {
  anyText,
  headerNameRule,
  oneOf,
  optionalDuration,
  optionalInteger,
  optionalText,
  sectionNameRule,
  text,
  warnOfIgnored,
  warnOfOthers,
} from "../field-rules.js";
import {
  backendFields,
  type BackendReference,
  decodeBackend,
  decodeBackends,
  decodeParents,
  routeParentFields,
} from "./references.js";
import { decodeFilters, httpFilterTypes, type RouteFilter } from "./filters.js";
import { checkRuleNames, decodeHostnames, routeKind, type RouteSpec } from "./route-kind.js";
import type { HttpPathMatch, HttpRouteMatch, ValueMatch } from "./route-matches.js";
import { checkRouteProducts } from "./route-products.js";
import { literalStarFault, pathPatternFault } from "../../istio/virtual-service/unmatchable.js";

export interface HttpBackendReference extends BackendReference {
  readonly filters: readonly RouteFilter[];
}

/** Timeouts in milliseconds. 0 disables one. */
export interface HttpRouteTimeouts {
  readonly request?: number;
  readonly backendRequest?: number;
}

export interface HttpRouteRetry {
  /** Status codes, 400 to 599, that are retried, in addition to failures of connections. */
  readonly codes: readonly number[];
  /** 0 disables retries. Default 1. */
  readonly attempts: number;
  /** Milliseconds. */
  readonly backoff?: number;
}

export interface HttpRouteRule {
  readonly name?: string;
  /** Alternatives. Default: the prefix `/`. Empty: the rule applies to all requests. */
  readonly matches: readonly HttpRouteMatch[];
  readonly filters: readonly RouteFilter[];
  readonly backendRefs: readonly HttpBackendReference[];
  readonly timeouts?: HttpRouteTimeouts;
  readonly retry?: HttpRouteRetry;
}

export interface HttpRouteSpec extends RouteSpec {
  readonly rules: readonly HttpRouteRule[];
}

export type HttpRouteObject = ConfigObject<HttpRouteSpec>;

/** HTTPRoutes of the config cluster, by `ns/name`. */
export const httpRoutes = collection<HttpRouteObject>("HTTPRoute", { filter: discoveryNamespacesFilter });

export const httpRouteKind: Kind = routeKind({
  of: httpRoutes,
  versions: ["v1", "v1beta1", "v1alpha2"],
  key: meshKey,
  decode: (spec) => {
    warnOfOthers(spec, [...routeParentFields, "hostnames", "rules"]);
    const rules = spec.list("rules");
    checkRuleNames(spec);
    return {
      ...decodeParents(spec),
      hostnames: decodeHostnames(spec),
      rules: spec.has("rules") ? rules.map(decodeRule) : [matchAll],
    };
  },
  validate: checkRouteProducts,
});

const everyPath: HttpPathMatch = { type: "PathPrefix", value: "/" };
const everyRequest: HttpRouteMatch = { path: everyPath, headers: [], queryParams: [] };

/** The default of `rules`. */
const matchAll: HttpRouteRule = { matches: [everyRequest], filters: [], backendRefs: [] };

const ruleFields = ["name", "matches", "filters", "backendRefs", "timeouts", "retry", "sessionPersistence"];

function decodeRule(rule: Fields): HttpRouteRule {
  warnOfOthers(rule, ruleFields);
  warnOfIgnored(rule, "sessionPersistence", "istiod does not implement it; use a DestinationRule's consistentHash");
  const decoded: HttpRouteRule = {
    ...optionalText(rule, "name", sectionNameRule),
    matches: rule.has("matches") ? rule.list("matches").map(decodeMatch) : [everyRequest],
    filters: decodeFilters(rule, httpFilterTypes),
    backendRefs: decodeBackends(rule, (ref) => {
      warnOfOthers(ref, [...backendFields, "filters"]);
      return { ...decodeBackend(ref), filters: decodeFilters(ref, httpFilterTypes) };
    }),
    ...(rule.has("timeouts") && { timeouts: decodeTimeouts(rule.object("timeouts")) }),
    ...(rule.has("retry") && { retry: decodeRetry(rule.object("retry")) }),
  };
  checkRule(rule, decoded);
  return decoded;
}

/** Checks what a rule's parts require of each other. Source: the validations of the custom resource. */
function checkRule(rule: Fields, { matches, filters, backendRefs }: HttpRouteRule): void {
  if (backendRefs.length > 0 && filters.some(({ type }) => type === "RequestRedirect"))
    rule.fault(["backendRefs"], backendRefs, "no backends in a rule with a filter of type RequestRedirect");
  const replacesPrefix = [...filters, ...backendRefs.flatMap((ref) => ref.filters)].some(
    (filter) =>
      (filter.type === "RequestRedirect" && filter.requestRedirect.path?.type === "ReplacePrefixMatch") ||
      (filter.type === "URLRewrite" && filter.urlRewrite.path?.type === "ReplacePrefixMatch"),
  );
  const [match = everyRequest] = matches;
  if (replacesPrefix && (matches.length > 1 || match.path.type !== "PathPrefix"))
    rule.fault(["matches"], matches, "exactly one match of type PathPrefix, as a filter has replacePrefixMatch");
}

const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"] as const;

function decodeMatch(match: Fields): HttpRouteMatch {
  warnOfOthers(match, ["path", "headers", "queryParams", "method"]);
  return {
    path: decodePath(match.object("path")),
    headers: match.list("headers").map(decodeValueMatch),
    queryParams: match.list("queryParams").map(decodeValueMatch),
    ...(match.has("method") && { method: oneOf(match, "method", methods) }),
  };
}

const pathCharacters = /^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})+$/;

function decodePath(path: Fields): HttpPathMatch {
  if (!path.present) return everyPath;
  warnOfOthers(path, ["type", "value"]);
  const type = oneOf(path, "type", ["PathPrefix", "Exact", "RegularExpression"]);
  const value = path.has("value") ? path.string("value") : "/";
  if (type !== "RegularExpression" && !isNormalPath(value))
    path.fault(["value"], value, "an absolute path without empty, . and .. segments, %2f and #");
  const fault = type === "RegularExpression" ? pathPatternFault(value) : literalStarFault(value);
  if (fault !== undefined) path.warn(["value"], fault, "never-matches");
  return { type, value };
}

function isNormalPath(value: string): boolean {
  return value.startsWith("/") && pathCharacters.test(value) && !/\/\/|\/\.\.?(?:\/|$)|%2f|#/i.test(value);
}

/** Decodes a match of a header or query parameter. */
export function decodeValueMatch(match: Fields): ValueMatch {
  warnOfOthers(match, ["type", "name", "value"]);
  const type = oneOf(match, "type", ["Exact", "RegularExpression"]);
  const value = text(match, "value", anyText, "required");
  return { type, name: text(match, "name", headerNameRule, "required"), value };
}

function decodeTimeouts(timeouts: Fields): HttpRouteTimeouts {
  warnOfOthers(timeouts, ["request", "backendRequest"]);
  const decoded = { ...optionalDuration(timeouts, "request"), ...optionalDuration(timeouts, "backendRequest") };
  const { request = 0, backendRequest = 0 } = decoded;
  if (request !== 0 && backendRequest > request)
    timeouts.fault(["backendRequest"], timeouts.string("backendRequest"), "at most the timeout of the request");
  return decoded;
}

function decodeRetry(retry: Fields): HttpRouteRetry {
  warnOfOthers(retry, ["codes", "attempts", "backoff"]);
  return {
    codes: decodeCodes(retry),
    attempts: optionalInteger(retry, "attempts", 0, 2 ** 31 - 1).attempts ?? 1,
    ...optionalDuration(retry, "backoff"),
  };
}

function decodeCodes(retry: Fields): readonly number[] {
  return retry.integers("codes").filter((code, i) => {
    const isValid = code >= 400 && code <= 599;
    if (!isValid) retry.fault(["codes", i], code, "400 to 599");
    return isValid;
  });
}
