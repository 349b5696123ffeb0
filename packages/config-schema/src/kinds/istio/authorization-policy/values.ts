import { isCidr, isIpAddress } from "../../../validation/network/ip.js";
import { each, type Place } from "../../../validation/place.js";

export function checkNotEmpty(values: readonly string[], place: Place): void {
  each(values, place, (value, at) => {
    if (value === "") at.error("is empty, expected a value");
  });
}

/** Maximum length of values that proxies match by a pattern, in bytes. */
const maxPatternLength = 1024;

/** Checks the length of values from which a pattern is built: Envoy rejects a listener with too large a pattern. */
export function checkPatternLengths(values: readonly string[], place: Place): void {
  each(values, place, (value, at) => {
    const length = Buffer.byteLength(value);
    if (length > maxPatternLength) at.error(`has ${length} bytes, expected at most ${maxPatternLength}`);
  });
}

/** Checks values that are matched by a pattern: not empty, and not too long. */
export function checkMatchedValues(values: readonly string[], place: Place): void {
  checkNotEmpty(values, place);
  checkPatternLengths(values, place);
}

export function checkIpBlocks(values: readonly string[], place: Place): void {
  each(values, place, (value, at) => {
    if (value.includes("/") ? !isCidr(value) : !isIpAddress(value))
      at.error(`is ${JSON.stringify(value)}, expected an IP address or a range such as 10.0.0.0/8`);
  });
}

/** Checks port numbers given as strings. */
export function checkPorts(values: readonly string[], place: Place): void {
  each(values, place, (value, at) => {
    if (!/^\d+$/.test(value) || Number(value) > 65535) at.error(`is ${JSON.stringify(value)}, expected a port number`);
  });
}

/** Checks values that may have a `*` at the start, at the end, or alone. */
export function checkWildcards(values: readonly string[], place: Place): void {
  checkMatchedValues(values, place);
  each(values, place, (value, at) => {
    const star = value.indexOf("*");
    if (star !== value.lastIndexOf("*") || (star > 0 && star < value.length - 1))
      at.error(`is ${JSON.stringify(value)}, expected one *, at the start or the end`);
  });
}

/** Checks service accounts: `name` or `namespace/name`, at most 16. */
export function checkServiceAccounts(values: readonly string[], place: Place): void {
  if (values.length > 16) place.error(`has ${values.length} elements, expected at most 16`);
  each(values, place, (value, at) => {
    if (value.includes("*") || value.length > 320 || !/^[^/]+(?:\/[^/]+)?$/.test(value))
      at.error(
        `is ${JSON.stringify(value)}, expected name or namespace/name without wildcard, of at most 320 characters`,
      );
  });
}
