import { collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../../config-object.js";
import type { Fields } from "../../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import type { Kind } from "../../kind.js";
import {
  oneOf,
  optionalText,
  sectionNameRule,
  type TextRule,
  warnOfIgnored,
  warnOfOthers,
  anyText,
} from "../field-rules.js";
import { decodeValueMatch, type HttpBackendReference } from "./http-route.js";
import { backendFields, decodeBackend, decodeBackends, decodeParents, routeParentFields } from "./references.js";
import { decodeFilters, grpcFilterTypes, type RouteFilter } from "./filters.js";
import { checkRuleNames, decodeHostnames, routeKind, type RouteSpec } from "./route-kind.js";
import type { GrpcMethodMatch, GrpcRouteMatch } from "./route-matches.js";
import { checkRouteProducts } from "./route-products.js";

export interface GrpcRouteRule {
  readonly name?: string;
  /** Alternatives. Empty: the rule applies to all calls. */
  readonly matches: readonly GrpcRouteMatch[];
  readonly filters: readonly RouteFilter[];
  readonly backendRefs: readonly HttpBackendReference[];
}

export interface GrpcRouteSpec extends RouteSpec {
  readonly rules: readonly GrpcRouteRule[];
}

export type GrpcRouteObject = ConfigObject<GrpcRouteSpec>;

/** GRPCRoutes of the config cluster, by `ns/name`. */
export const grpcRoutes = collection<GrpcRouteObject>("GRPCRoute", { filter: discoveryNamespacesFilter });

export const grpcRouteKind: Kind = routeKind({
  of: grpcRoutes,
  versions: ["v1", "v1alpha2"],
  key: meshKey,
  decode: (spec) => {
    warnOfOthers(spec, [...routeParentFields, "hostnames", "rules"]);
    checkRuleNames(spec);
    return {
      ...decodeParents(spec),
      hostnames: decodeHostnames(spec),
      rules: spec.list("rules").map(decodeRule),
    };
  },
  validate: checkRouteProducts,
});

function decodeRule(rule: Fields): GrpcRouteRule {
  warnOfOthers(rule, ["name", "matches", "filters", "backendRefs", "sessionPersistence"]);
  warnOfIgnored(rule, "sessionPersistence", "istiod does not implement it; use a DestinationRule's consistentHash");
  return {
    ...optionalText(rule, "name", sectionNameRule),
    matches: rule.list("matches").map((match) => {
      warnOfOthers(match, ["method", "headers"]);
      return {
        ...(match.has("method") && { method: decodeMethod(match.object("method")) }),
        headers: match.list("headers").map(decodeValueMatch),
      };
    }),
    filters: decodeFilters(rule, grpcFilterTypes),
    backendRefs: decodeBackends(rule, (ref) => {
      warnOfOthers(ref, [...backendFields, "filters"]);
      return { ...decodeBackend(ref), filters: decodeFilters(ref, grpcFilterTypes) };
    }),
  };
}

const serviceName: TextRule = {
  isValid: (name) => name.length <= 1024 && /^\.?[a-z_][a-z_0-9]*(?:\.[a-z_][a-z_0-9]*)*$/i.test(name),
  expected: "the full name of a gRPC service, such as shop.v1.Cart",
};
const methodName: TextRule = {
  isValid: (name) => name.length <= 1024 && /^[A-Za-z_][A-Za-z_0-9]*$/.test(name),
  expected: "the name of a gRPC method",
};

function decodeMethod(match: Fields): GrpcMethodMatch {
  warnOfOthers(match, ["type", "service", "method"]);
  const type = oneOf(match, "type", ["Exact", "RegularExpression"]);
  if (!match.has("service") && !match.has("method")) match.fault([], {}, "a service, a method or both");
  return {
    type,
    ...optionalText(match, "service", type === "Exact" ? serviceName : anyText),
    ...optionalText(match, "method", type === "Exact" ? methodName : anyText),
  };
}
