import { parseCidrRange } from "../../envoy/cidr.js";
import { anyValueOf, listContaining, metadataMatcher, stringValue } from "../../envoy/value-matcher.js";
import { claimContains } from "../jwt-claims.js";
import type { Attribute } from "./attribute.js";
import { destinationPort } from "./operation-attributes.js";
import { headerMatcher, patternMatcher } from "./patterns.js";
import { type Permission, permission } from "./permission.js";
import { type Principal, principal } from "./principal.js";
import {
  remoteIp,
  requestPrincipal,
  sourceIp,
  sourceNamespace,
  sourcePrincipal,
  sourceServiceAccount,
  sourceTrustDomain,
} from "./source-attributes.js";

/**
 * The attribute of a condition and the side of an RBAC policy that it belongs to. Source: the reference of
 * AuthorizationPolicy conditions.
 */
type ConditionAttribute =
  | { readonly side: "permission"; readonly attribute: Attribute<Permission> }
  | { readonly side: "principal"; readonly attribute: Attribute<Principal>; readonly trust?: "principal" | "domain" };

/** Returns the attribute of a `when` key; undefined if it is unknown. */
export function conditionAttribute(key: string): ConditionAttribute | undefined {
  const plain = plainConditions[key];
  if (plain !== undefined) return plain;
  const filters = "experimental.";
  if (key.startsWith("experimental.envoy.filters."))
    return { side: "permission", attribute: filterMetadata(key.slice(filters.length)) };
  if (key.startsWith("request.headers"))
    return { side: "principal", attribute: requestHeader(key.slice("request.headers".length)) };
  if (key.startsWith("request.auth.claims")) {
    return { side: "principal", attribute: nestedClaim(key.slice("request.auth.claims".length)) ?? unsupported };
  }
  return undefined;
}

const sni: Attribute<Permission> = { each: (value) => permission("requestedServerName", patternMatcher(value)) };

const destinationIp: Attribute<Permission> = {
  each: (value) => {
    const range = parseCidrRange(value);
    return range && permission("destinationIp", range);
  },
};

const plainConditions: Readonly<Record<string, ConditionAttribute>> = {
  "destination.ip": { side: "permission", attribute: destinationIp },
  "destination.port": { side: "permission", attribute: destinationPort },
  "connection.sni": { side: "permission", attribute: sni },
  "source.ip": { side: "principal", attribute: sourceIp },
  "remote.ip": { side: "principal", attribute: remoteIp },
  "source.namespace": { side: "principal", attribute: sourceNamespace },
  "source.trustDomain": { side: "principal", attribute: sourceTrustDomain, trust: "domain" },
  "source.serviceAccount": { side: "principal", attribute: sourceServiceAccount },
  "source.principal": { side: "principal", attribute: sourcePrincipal, trust: "principal" },
  "request.auth.principal": { side: "principal", attribute: requestPrincipal },
  "request.auth.audiences": { side: "principal", attribute: claim(["aud"]) },
  "request.auth.presenter": { side: "principal", attribute: claim(["azp"]) },
};

const unsupported: Attribute<Principal> = { all: () => undefined };

/** Returns a nested claim, `[a][b]`, or else a single claim in brackets. */
function nestedClaim(brackets: string): Attribute<Principal> | undefined {
  if (/^(\[[^[\]]*\])+$/.test(brackets)) return claim(brackets.slice(1, -1).split("]["));
  const whole = inBrackets(brackets);
  return whole === undefined ? undefined : claim([whole]);
}

function claim(path: readonly string[]): Attribute<Principal> {
  return {
    httpOnly: true,
    all: (values) =>
      principal("metadata", claimContains(path, anyValueOf(values.map((value) => stringValue(patternMatcher(value)))))),
  };
}

function requestHeader(brackets: string): Attribute<Principal> {
  const name = inBrackets(brackets);
  return {
    httpOnly: true,
    each: (value) => (name === undefined ? undefined : principal("header", headerMatcher(name, value))),
  };
}

/** Matches metadata of any filter, `envoy.filters.a.b[c]`. A value in brackets matches a list element. */
function filterMetadata(text: string): Attribute<Permission> {
  const open = text.indexOf("[");
  const key = text.slice(open + 1).replace(/\]$/, "");
  return {
    all: (values) => {
      if (open < 0) return undefined;
      const matches = values.map((value) =>
        value.startsWith("[") && value.endsWith("]")
          ? listContaining(stringValue(patternMatcher(value.replace(/^[[\]]+|[[\]]+$/g, ""))))
          : stringValue(patternMatcher(value)),
      );
      return permission("metadata", metadataMatcher(text.slice(0, open), [key], anyValueOf(matches)));
    },
  };
}

function inBrackets(text: string): string | undefined {
  return text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : undefined;
}
