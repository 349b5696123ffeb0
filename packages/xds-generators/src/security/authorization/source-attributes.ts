import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import { requestPrincipalPattern, type StringPattern } from "@istiod/push-context";
import { parseCidrRange } from "../../envoy/cidr.js";
import { quoteRegex } from "../../envoy/regex.js";
import { exactMatcher, prefixMatcher, regexMatcher, suffixMatcher } from "../../envoy/string-matcher.js";
import { stringValue } from "../../envoy/value-matcher.js";
import { claimEquals } from "../jwt-claims.js";
import type { Attribute } from "./attribute.js";
import { nonEmptyString, patternMatcher } from "./patterns.js";
import { authenticatedPeer, everyPrincipal, type Principal, principal, somePrincipal } from "./principal.js";

export const sourcePrincipal: Attribute<Principal> = {
  each: (value, { identity }) => authenticatedPeer(patternMatcher(value, "spiffe://"), identity),
};

/** `issuer/subject`; the issuer may contain slashes. */
export const requestPrincipal: Attribute<Principal> = {
  httpOnly: true,
  all: (values) => {
    const terms = values.map((value) => {
      const { issuer, subject } = requestPrincipalPattern(value);
      return everyPrincipal([
        principal("metadata", claimEquals("iss", stringValue(matcherOf(issuer)))),
        principal("metadata", claimEquals("sub", stringValue(matcherOf(subject)))),
      ]);
    });
    const [only] = terms;
    return only !== undefined && terms.length === 1 ? only : somePrincipal(terms);
  },
};

const matchers = { exact: exactMatcher, prefix: prefixMatcher, suffix: suffixMatcher };

function matcherOf(pattern: StringPattern): StringMatcher {
  return pattern.type === "any" ? nonEmptyString : matchers[pattern.type](pattern.value);
}

/** `name` or `namespace/name`; other parts of the SPIFFE ID are ignored. */
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

export const sourceNamespace: Attribute<Principal> = {
  each: (value, { identity }) => {
    const pattern = value.split("*").map(quoteRegex).join(".*");
    return authenticatedPeer(regexMatcher(`.*/ns/${pattern}/.*`), identity);
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

export const remoteIp: Attribute<Principal> = {
  each: (value) => {
    const range = parseCidrRange(value);
    return range && principal("remoteIp", range);
  },
};

/** Inside a tunnel the direct peer is Envoy itself, so its address cannot be matched. */
export const sourceIp: Attribute<Principal> = {
  each: (value, { identity }) => {
    const range = identity === "filterState" ? undefined : parseCidrRange(value);
    return range && principal("directRemoteIp", range);
  },
};
