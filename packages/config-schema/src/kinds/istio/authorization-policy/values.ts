import { isCidr, isIpAddress } from "../../../validation/network/ip.js";
import { each, type Place } from "../../../validation/place.js";

export function checkNotEmpty(values: readonly string[], place: Place): void {
  each(values, place, (value, at) => {
    if (value === "") at.error("is empty, expected a value");
  });
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
  checkNotEmpty(values, place);
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
