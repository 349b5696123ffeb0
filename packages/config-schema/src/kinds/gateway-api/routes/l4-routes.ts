import { collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../../config-object.js";
import type { Fields } from "../../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import type { Kind } from "../../kind.js";
import { optionalText, sectionNameRule, warnOfOthers } from "../field-rules.js";
import {
  backendFields,
  type BackendReference,
  decodeBackend,
  decodeBackends,
  decodeParents,
  type RouteParents,
  routeParentFields,
} from "./references.js";
import { decodeHostnames, routeKind, type RouteSpec } from "./route-kind.js";

/** A rule of a TCPRoute or TLSRoute. */
export interface L4RouteRule {
  readonly name?: string;
  readonly backendRefs: readonly BackendReference[];
}

export interface TcpRouteSpec extends RouteParents {
  readonly rules: readonly L4RouteRule[];
}

export interface TlsRouteSpec extends RouteSpec {
  readonly rules: readonly L4RouteRule[];
}

export type TcpRouteObject = ConfigObject<TcpRouteSpec>;
export type TlsRouteObject = ConfigObject<TlsRouteSpec>;

/** TCPRoutes of the config cluster, by `ns/name`. */
export const tcpRoutes = collection<TcpRouteObject>("TCPRoute", { filter: discoveryNamespacesFilter });

/** TLSRoutes of the config cluster, by `ns/name`. */
export const tlsRoutes = collection<TlsRouteObject>("TLSRoute", { filter: discoveryNamespacesFilter });

export const tcpRouteKind: Kind = routeKind({
  of: tcpRoutes,
  versions: ["v1", "v1alpha2"],
  key: meshKey,
  decode: (spec) => {
    warnOfOthers(spec, [...routeParentFields, "rules"]);
    return { ...decodeParents(spec), rules: spec.list("rules").map(decodeRule) };
  },
});

export const tlsRouteKind: Kind = routeKind({
  of: tlsRoutes,
  versions: ["v1", "v1alpha3", "v1alpha2"],
  key: meshKey,
  decode: (spec) => {
    warnOfOthers(spec, [...routeParentFields, "hostnames", "rules"]);
    return { ...decodeParents(spec), hostnames: decodeHostnames(spec), rules: spec.list("rules").map(decodeRule) };
  },
});

function decodeRule(rule: Fields): L4RouteRule {
  warnOfOthers(rule, ["name", "backendRefs"]);
  return {
    ...optionalText(rule, "name", sectionNameRule),
    backendRefs: decodeBackends(rule, (ref) => {
      warnOfOthers(ref, backendFields);
      return decodeBackend(ref);
    }),
  };
}
