import { create } from "@bufbuild/protobuf";
import { type HeaderMatcher, HeaderMatcherSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { type MetadataMatcher, MetadataMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/metadata";
import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import { type ValueMatcher, ValueMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/value";
import { exactMatcher, regexMatcher, prefixMatcher, suffixMatcher } from "../envoy/string-matcher.js";

/** The text as an RE2 expression that matches just it. */
export function quoteRegex(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}

export const nonEmptyString = regexMatcher(".+");

/**
 * A value of an AuthorizationPolicy: `*` is anything but nothing, a `*` at either end stands for the rest. `prefix` stands before
 * the value's own text, even where that begins with `*`.
 */
export function patternMatcher(value: string, prefix = ""): StringMatcher {
  if (value === "*") return nonEmptyString;
  if (value.startsWith("*")) {
    const rest = value.slice(1);
    return prefix === "" ? suffixMatcher(rest) : regexMatcher(`${prefix}.*${quoteRegex(rest)}`);
  }
  return value.endsWith("*") ? prefixMatcher(prefix + value.slice(0, -1)) : exactMatcher(prefix + value);
}

/** A header with such a value; `*` asks only that it is there. */
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

export function stringValue(match: StringMatcher): ValueMatcher {
  return create(ValueMatcherSchema, { matchPattern: { case: "stringMatch", value: match } });
}

/** Any single value: text, a number, true or false. */
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

/** The value found in a filter's dynamic metadata along a path of keys. */
export function metadataMatcher(filter: string, path: readonly string[], value: ValueMatcher): MetadataMatcher {
  return create(MetadataMatcherSchema, {
    filter,
    path: path.map((key) => ({ segment: { case: "key" as const, value: key } })),
    value,
  });
}
