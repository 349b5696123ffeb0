import type { Fields } from "../../decoding/fields.js";
import { isLabelKey, isLabelValue } from "./names.js";

/** Returns a string that satisfies a rule; empty if it is absent. Another one is reported, and read as given. */
export function checkedString(
  fields: Fields,
  name: string,
  isValid: (text: string) => boolean,
  expected: string,
): string {
  const value = fields.string(name);
  if (value !== "" && !isValid(value)) fields.fault([name], value, expected);
  return value;
}

/** Returns strings that each satisfy a rule. Others are reported, and read as given. */
export function checkedStrings(
  fields: Fields,
  name: string,
  isValid: (text: string) => boolean,
  expected: string,
): readonly string[] {
  const values = fields.strings(name);
  for (const [i, value] of values.entries()) if (!isValid(value)) fields.fault([name, i], value, expected);
  return values;
}

/** Returns `{name: value}`, or an empty object for an empty value, to be spread into an object. */
export function optional<N extends string>(name: N, value: string): { readonly [K in N]?: string } {
  return (value === "" ? {} : { [name]: value }) as { readonly [K in N]?: string };
}

/** Checks a selector, whose keys and values are those of labels. */
export function checkSelectorLabels(
  fields: Fields,
  name: string,
  selector: Readonly<Record<string, string>> | undefined,
): void {
  for (const [key, value] of Object.entries(selector ?? {})) {
    if (!isLabelKey(key)) fields.fault([name, key], key, expectedLabelKey);
    else if (!isLabelValue(value)) fields.fault([name, key], value, expectedLabelValue);
  }
}

export const expectedLabelKey =
  "a key [prefix/]name of at most 63 letters, digits, -, _ and ., with a domain name in lower case as prefix";
export const expectedLabelValue =
  "at most 63 letters, digits, -, _ and ., with a letter or digit at the start and the end";
export const expectedLabel = "at most 63 lower-case letters, digits and inner hyphens";
export const expectedSubdomain = "at most 253 lower-case letters, digits, hyphens and dots, as in a domain name";
export const expectedPortName = "the name of a container port: at most 15 lower-case letters, digits and inner hyphens";
export const expectedAddress = "an IP address";
