import { create } from "@bufbuild/protobuf";
import { type HeaderMatcher, HeaderMatcherSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import { quoteRegex } from "../../envoy/regex.js";
import { exactMatcher, prefixMatcher, regexMatcher, suffixMatcher } from "../../envoy/string-matcher.js";

export const nonEmptyString = regexMatcher(".+");

/**
 * Matches a value of an AuthorizationPolicy: `*` matches any non-empty string, a `*` at either end matches the rest.
 * `prefix` precedes the value itself, even if that starts with `*`.
 */
export function patternMatcher(value: string, prefix = ""): StringMatcher {
  if (value === "*") return nonEmptyString;
  if (value.startsWith("*")) {
    const rest = value.slice(1);
    return prefix === "" ? suffixMatcher(rest) : regexMatcher(`${prefix}.*${quoteRegex(rest)}`);
  }
  return value.endsWith("*") ? prefixMatcher(prefix + value.slice(0, -1)) : exactMatcher(prefix + value);
}

/** Matches a header by such a value; `*` requires it to be present. */
export function headerMatcher(name: string, value: string, ignoreCase = false): HeaderMatcher {
  if (value === "*")
    return create(HeaderMatcherSchema, { name, headerMatchSpecifier: { case: "presentMatch", value: true } });
  const match = value.startsWith("*")
    ? suffixMatcher(value.slice(1), ignoreCase)
    : value.endsWith("*")
      ? prefixMatcher(value.slice(0, -1), ignoreCase)
      : exactMatcher(value, ignoreCase);
  return create(HeaderMatcherSchema, { name, headerMatchSpecifier: { case: "stringMatch", value: match } });
}
