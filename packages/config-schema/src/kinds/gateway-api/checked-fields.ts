import type { Fields } from "../../decoding/fields.js";
import { isSubdomain } from "../../validation/kubernetes/names.js";
import { durationForm } from "./field-rules.js";

/** Returns a string that must be set and satisfy a rule. Another one is reported, and read as given. */
export function requiredString(
  fields: Fields,
  name: string,
  isValid: (text: string) => boolean,
  expected: string,
): string {
  const value = fields.string(name);
  if (value === "" && (!fields.has(name) || fields.isString(name)))
    fields.fault([name], fields.has(name) ? value : undefined, expected);
  else if (value !== "" && !isValid(value)) fields.fault([name], value, expected);
  return value;
}

/** Returns `{name: value}` for a string of a closed set, or an empty object if it is absent. Others are reported. */
export function optionalEnum<N extends string, const V extends string>(
  fields: Fields,
  name: N,
  values: readonly V[],
): { readonly [K in N]?: V } {
  const text = fields.string(name);
  const value = values.find((known) => known === text);
  if (text !== "" && value === undefined) fields.fault([name], text, `one of ${values.join(", ")}`);
  return (value === undefined ? {} : { [name]: value }) as { readonly [K in N]?: V };
}

/** Returns a string of a closed set that must be set. Another one is reported, and read as the first of the set. */
export function requiredEnum<const V extends string>(fields: Fields, name: string, values: readonly [V, ...V[]]): V {
  if (!fields.has(name)) fields.fault([name], undefined, `one of ${values.join(", ")}`);
  return optionalEnum(fields, name, values)[name] ?? values[0];
}

/** Returns `{name: value}` for a string that satisfies a rule if it is set, or an empty object if it is absent. */
export function optionalChecked<N extends string>(
  fields: Fields,
  name: N,
  isValid: (text: string) => boolean,
  expected: string,
): { readonly [K in N]?: string } {
  const value = fields.optionalString(name);
  const text = value[name];
  if (text !== undefined && !isValid(text)) fields.fault([name], text, expected);
  return value;
}

/** Reports whether a string is a hostname of the Gateway API: a domain name, whose first label may be `*`. */
export function isGatewayApiHostname(text: string): boolean {
  return isSubdomain(text.startsWith("*.") ? text.slice(2) : text);
}

export const expectedHostname = "a domain name in lower case, whose first label may be *";

/** Reports whether a string is a duration of the Gateway API (GEP-2257), such as `1h30m`. */
export function isGatewayApiDuration(text: string): boolean {
  return durationForm.test(text);
}

export const expectedDuration = "a duration of up to four numbers with units, such as 1h30m or 500ms";

/** Reports whether a string is not empty. */
export const isAnyText = (text: string): boolean => text !== "";
