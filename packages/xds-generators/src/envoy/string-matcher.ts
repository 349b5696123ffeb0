import { create } from "@bufbuild/protobuf";
import { type StringMatcher, StringMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/string";

export function exactly(value: string, ignoreCase = false): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "exact", value }, ignoreCase });
}

export function withPrefix(value: string, ignoreCase = false): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "prefix", value }, ignoreCase });
}

export function withSuffix(value: string, ignoreCase = false): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "suffix", value }, ignoreCase });
}

/** A full match of an RE2 expression. */
export function matchingRegex(regex: string): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "safeRegex", value: { regex } } });
}
