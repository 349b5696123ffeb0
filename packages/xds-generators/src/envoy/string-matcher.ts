import { create } from "@bufbuild/protobuf";
import { type StringMatcher, StringMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/string";

export function exactMatcher(value: string, ignoreCase = false): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "exact", value }, ignoreCase });
}

export function prefixMatcher(value: string, ignoreCase = false): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "prefix", value }, ignoreCase });
}

export function suffixMatcher(value: string, ignoreCase = false): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "suffix", value }, ignoreCase });
}

/** Matches the whole string by an RE2 expression. */
export function regexMatcher(regex: string): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "safeRegex", value: { regex } } });
}
