import { UriTemplateMatchConfigSchema } from "@istiod/envoy-api/envoy/extensions/path/match/uri_template/v3/uri_template_match";
import { create } from "@bufbuild/protobuf";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { PathMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/path";
import { packAny } from "../../envoy/any.js";
import { parseCidrRange } from "../../envoy/cidr.js";
import { exactMatcher, regexMatcher, prefixMatcher, suffixMatcher } from "../../envoy/string-matcher.js";
import { claimContains, claimEquals } from "../jwt-claims.js";
import { type Permission, permission } from "./permission.js";
import {
  authenticatedPeer,
  everyPrincipal,
  type PeerIdentitySource,
  type Principal,
  principal,
  somePrincipal,
} from "./principal.js";
import {
  nonEmptyString,
  anyValueOf,
  headerMatcher,
  listContaining,
  metadataMatcher,
  quoteRegex,
  stringValue,
  patternMatcher,
} from "../value-matcher.js";

/** Where a rule is translated for. */
export interface RuleContext {
  readonly identity: PeerIdentitySource;
  /** Namespace of service accounts that name none. */
  readonly policyNamespace: string;
}

/** How the values of an attribute become terms; undefined for what cannot be said. */
export type Attribute<T> = { readonly httpOnly?: boolean } & (
  | { readonly each: (value: string, context: RuleContext) => T | undefined }
  /** All values in one term. */
  | { readonly all: (values: readonly string[], context: RuleContext) => T | undefined }
);

export const destinationPort: Attribute<Permission> = {
  each: (value) =>
    /^\d+$/.test(value) && Number(value) <= 65535 ? permission("destinationPort", Number(value)) : undefined,
};

export const path: Attribute<Permission> = {
  httpOnly: true,
  each: (value) => {
    if (!value.includes("{*}") && !value.includes("{**}")) {
      return permission("urlPath", create(PathMatcherSchema, { rule: { case: "path", value: patternMatcher(value) } }));
    }
    const pathTemplate = value.replaceAll("{*}", "*").replaceAll("{**}", "**");
    const typedConfig = packAny(UriTemplateMatchConfigSchema, { pathTemplate });
    return permission("uriTemplate", create(TypedExtensionConfigSchema, { name: "uri-template", typedConfig }));
  },
};

export const method: Attribute<Permission> = {
  httpOnly: true,
  each: (value) => permission("header", headerMatcher(":method", value)),
};

export const host: Attribute<Permission> = {
  httpOnly: true,
  each: (value) => permission("header", headerMatcher(":authority", value, true)),
};

const destinationIp: Attribute<Permission> = {
  each: (value) => {
    const range = parseCidrRange(value);
    return range && permission("destinationIp", range);
  },
};

const sni: Attribute<Permission> = { each: (value) => permission("requestedServerName", patternMatcher(value)) };

/** Inside a tunnel, the direct peer of a connection is Envoy itself, so that nothing can be said of its address. */
export const sourceIp: Attribute<Principal> = {
  each: (value, { identity }) => {
    const range = identity === "filterState" ? undefined : parseCidrRange(value);
    return range && principal("directRemoteIp", range);
  },
};

export const remoteIp: Attribute<Principal> = {
  each: (value) => {
    const range = parseCidrRange(value);
    return range && principal("remoteIp", range);
  },
};

export const sourceNamespace: Attribute<Principal> = {
  each: (value, { identity }) => {
    const pattern = value.split("*").map(quoteRegex).join(".*");
    return authenticatedPeer(regexMatcher(`.*/ns/${pattern}/.*`), identity);
  },
};

/** `name` or `namespace/name`; parts that the SPIFFE ID has besides are passed over. */
export const sourceServiceAccount: Attribute<Principal> = {
  each: (value, { identity, policyNamespace }) => {
    const slash = value.indexOf("/");
    const namespace = slash < 0 ? policyNamespace : value.slice(0, slash);
    const name = value.slice(slash + 1);
    return authenticatedPeer(
      regexMatcher(`spiffe://.+/ns/${quoteRegex(namespace)}/(.+/|)sa/${quoteRegex(name)}(/.+)?`),
      identity,
    );
  },
};

export const sourceTrustDomain: Attribute<Principal> = {
  each: (value, { identity }) => {
    const star = value.indexOf("*");
    const pattern = `${quoteRegex(value.slice(0, star))}[^/]*${quoteRegex(value.slice(star + 1))}`;
    const match =
      value === "*"
        ? prefixMatcher("spiffe://")
        : star < 0
          ? prefixMatcher(`spiffe://${value}/`)
          : regexMatcher(`spiffe://${pattern}/.*`);
    return authenticatedPeer(match, identity);
  },
};

export const sourcePrincipal: Attribute<Principal> = {
  each: (value, { identity }) => authenticatedPeer(patternMatcher(value, "spiffe://"), identity),
};

/** `issuer/subject`; the issuer may have slashes of its own. */
export const requestPrincipal: Attribute<Principal> = {
  httpOnly: true,
  all: (values) => {
    const terms = values.map((value) => {
      const { issuer, subject } = issuerAndSubject(value);
      return everyPrincipal([
        principal("metadata", claimEquals("iss", stringValue(issuer))),
        principal("metadata", claimEquals("sub", stringValue(subject))),
      ]);
    });
    const [only] = terms;
    return only !== undefined && terms.length === 1 ? only : somePrincipal(terms);
  },
};

function issuerAndSubject(value: string): {
  issuer: ReturnType<typeof exactMatcher>;
  subject: ReturnType<typeof exactMatcher>;
} {
  const slash = value.lastIndexOf("/");
  const issuer = slash < 0 ? value : value.slice(0, slash);
  const subject = slash < 0 ? "" : value.slice(slash + 1);
  if (value === "*") return { issuer: nonEmptyString, subject: nonEmptyString };
  if (value.startsWith("*")) {
    if (slash < 0) return { issuer: nonEmptyString, subject: suffixMatcher(value.slice(1)) };
    return { issuer: issuer === "*" ? nonEmptyString : suffixMatcher(issuer.slice(1)), subject: exactMatcher(subject) };
  }
  if (value.endsWith("*")) {
    if (slash < 0) return { issuer: prefixMatcher(value.slice(0, -1)), subject: nonEmptyString };
    return {
      issuer: exactMatcher(issuer),
      subject: subject === "*" ? nonEmptyString : prefixMatcher(subject.slice(0, -1)),
    };
  }
  return { issuer: exactMatcher(issuer), subject: exactMatcher(subject) };
}

function claim(path: readonly string[]): Attribute<Principal> {
  return {
    httpOnly: true,
    all: (values) =>
      principal("metadata", claimContains(path, anyValueOf(values.map((value) => stringValue(patternMatcher(value)))))),
  };
}

/** `[a][b]` is a path of claims; what is not of that form, but in brackets, is one claim. */
function nestedClaim(brackets: string): Attribute<Principal> | undefined {
  if (/^(\[[^[\]]*\])+$/.test(brackets)) return claim(brackets.slice(1, -1).split("]["));
  const whole = inBrackets(brackets);
  return whole === undefined ? undefined : claim([whole]);
}

function requestHeader(brackets: string): Attribute<Principal> {
  const name = inBrackets(brackets);
  return {
    httpOnly: true,
    each: (value) => (name === undefined ? undefined : principal("header", headerMatcher(name, value))),
  };
}

/** `envoy.filters.a.b[c]`: the metadata that any filter leaves; a value in brackets is looked for in a list. */
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

/** A condition's attribute, and on which side of a policy it stands; source: the reference of AuthorizationPolicy conditions. */
export type ConditionAttribute =
  | { readonly side: "permission"; readonly attribute: Attribute<Permission> }
  | { readonly side: "principal"; readonly attribute: Attribute<Principal>; readonly trust?: "principal" | "domain" };

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

/** The attribute that a `when` key names; undefined for an unknown one. */
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
