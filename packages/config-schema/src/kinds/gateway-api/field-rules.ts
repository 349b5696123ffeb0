import { parseGoDuration } from "@istiod/settings";
import type { Fields } from "../../decoding/fields.js";
import { isLowerCaseLabel, isSubdomain } from "../../validation/kubernetes/names.js";

/** A rule of a string. */
export interface TextRule {
  isValid(text: string): boolean;
  /** Noun phrase for the expected text. */
  readonly expected: string;
}

function matching(pattern: RegExp, maxLength: number, expected: string): TextRule {
  return { isValid: (text) => text.length <= maxLength && pattern.test(text), expected };
}

const subdomain = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*";

export const anyText: TextRule = { isValid: () => true, expected: "a string" };

/** Name of an object. The Gateway API bounds only its length. */
export const objectName = matching(/^[^]+$/, 253, "a name of at most 253 characters");

export const namespaceName: TextRule = {
  isValid: isLowerCaseLabel,
  expected: "at most 63 lower-case letters, digits and inner hyphens",
};

/** API group; empty for Kubernetes' core group. */
export const groupName: TextRule = {
  isValid: (text) => text === "" || isSubdomain(text),
  expected: "an API group, or empty for the core group",
};

/** Kind of an object. */
export const kindName = matching(/^[a-zA-Z](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$/, 63, "a kind, such as Service");

export const sectionNameRule: TextRule = {
  isValid: isSubdomain,
  expected: "at most 253 lower-case letters, digits, hyphens and dots",
};

/** Hostname of a listener or route, whose first label may be `*`. */
export const hostnameRule = matching(
  new RegExp(`^(?:\\*\\.)?${subdomain}$`),
  253,
  "a domain name in lower case, whose first label may be *",
);

export const preciseHostname = matching(new RegExp(`^${subdomain}$`), 253, "a domain name in lower case");

export const headerNameRule = matching(/^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/, 256, "the name of a header");

/** Returns a string; empty if it is absent or reported, as one that breaks its rule or is required and missing is. */
export function text(fields: Fields, name: string, rule: TextRule, presence: "optional" | "required"): string {
  if (!fields.has(name)) {
    if (presence === "required" && fields.present) fields.fault([name], undefined, rule.expected);
    return "";
  }
  const value = fields.string(name);
  if (fields.isString(name) && !rule.isValid(value)) fields.fault([name], value, rule.expected);
  return value;
}

/** Returns `{name: value}`, or an empty object if the field is absent. An empty string is kept. */
export function optionalText<N extends string>(
  fields: Fields,
  name: N,
  rule: TextRule,
): { readonly [K in N]?: string } {
  return (fields.has(name) ? { [name]: text(fields, name, rule, "optional") } : {}) as { readonly [K in N]?: string };
}

/** Returns one of some strings, by default the first one. Others are reported. */
export function oneOf<T extends string>(fields: Fields, name: string, values: readonly [T, ...T[]]): T {
  const value = fields.string(name);
  const found = values.find((candidate) => candidate === value);
  if (found === undefined && value !== "") fields.fault([name], value, `one of ${values.join(", ")}`);
  return found ?? values[0];
}

/** Returns `{name: value}` for an integer within bounds, or an empty object if the field is absent. */
export function optionalInteger<N extends string>(
  fields: Fields,
  name: N,
  min: number,
  max: number,
): { readonly [K in N]?: number } {
  const value = fields.integer(name);
  if (value === undefined) return {};
  if (value < min || value > max) fields.fault([name], value, `${min} to ${max}`);
  return { [name]: value } as { readonly [K in N]?: number };
}

/** The form of durations of the Gateway API (GEP-2257), such as `1h30m`. */
export const durationForm = /^(?:[0-9]{1,5}(?:h|m|s|ms)){1,4}$/;

/**
 * Returns `{name: milliseconds}` for a duration in the form of GEP-2257, such as `1h30m`; an empty object if it is
 * absent.
 */
export function optionalDuration<N extends string>(fields: Fields, name: N): { readonly [K in N]?: number } {
  if (!fields.has(name)) return {};
  const value = fields.string(name);
  const nanoseconds = durationForm.test(value) ? parseGoDuration(value) : undefined;
  if (nanoseconds === undefined) {
    if (fields.isString(name)) fields.fault([name], value, "a duration such as 1h30m, 10s or 500ms");
    return {};
  }
  return { [name]: Number(nanoseconds / 1_000_000n) } as { readonly [K in N]?: number };
}

/** Returns `{name: boolean}`, or an empty object if the field is absent. */
export function optionalBoolean<N extends string>(fields: Fields, name: N): { readonly [K in N]?: boolean } {
  return (fields.has(name) ? { [name]: fields.boolean(name) } : {}) as { readonly [K in N]?: boolean };
}

/** Warns of fields with other names, which are of a later version of the API or misspelled. */
export function warnOfOthers(fields: Fields, known: readonly string[]): void {
  for (const name of fields.names())
    if (!known.includes(name)) fields.warn([name], "is unknown and has no effect", "unsupported-field");
}

/** Warns of a field that istiod accepts and ignores. */
export function warnOfIgnored(fields: Fields, name: string, why: string): void {
  if (fields.has(name)) fields.warn([name], `has no effect: ${why}`, "unsupported-field");
}
