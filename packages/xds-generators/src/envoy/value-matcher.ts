import { create } from "@bufbuild/protobuf";
import { type MetadataMatcher, MetadataMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/metadata";
import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import { type ValueMatcher, ValueMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/value";

export function stringValue(match: StringMatcher): ValueMatcher {
  return create(ValueMatcherSchema, { matchPattern: { case: "stringMatch", value: match } });
}

/** Matches any single value: a string, a number or a boolean. */
export const presentValue: ValueMatcher = create(ValueMatcherSchema, {
  matchPattern: { case: "presentMatch", value: true },
});

export function listContaining(value: ValueMatcher): ValueMatcher {
  return create(ValueMatcherSchema, {
    matchPattern: { case: "listMatch", value: { matchPattern: { case: "oneOf", value } } },
  });
}

export function anyValueOf(values: readonly ValueMatcher[]): ValueMatcher {
  const [only] = values;
  if (only !== undefined && values.length === 1) return only;
  return create(ValueMatcherSchema, { matchPattern: { case: "orMatch", value: { valueMatchers: [...values] } } });
}

/** Matches the value at a path of keys in a filter's dynamic metadata. */
export function metadataMatcher(filter: string, path: readonly string[], value: ValueMatcher): MetadataMatcher {
  return create(MetadataMatcherSchema, {
    filter,
    path: path.map((key) => ({ segment: { case: "key" as const, value: key } })),
    value,
  });
}
