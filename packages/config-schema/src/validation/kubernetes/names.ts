import { isIpAddress } from "../network/ip.js";

const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const mixedCaseSubdomain =
  /^[A-Za-z0-9](?:[-_A-Za-z0-9]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[-_A-Za-z0-9]*[A-Za-z0-9])?)*$/;
const qualifiedName = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const portName = /^(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

/** Maximum length of a DNS label and of the name of a label. */
const maxLabel = 63;
/** Maximum length of a DNS subdomain. */
const maxSubdomain = 253;
/** Maximum length of the name of a container port (RFC 6335). */
const maxPortName = 15;

/** Reports whether a string is a DNS label (RFC 1123) in lower case, as Kubernetes' names of namespaces are. */
export function isLowerCaseLabel(text: string): boolean {
  return text.length <= maxLabel && label.test(text);
}

/** Reports whether a string is a DNS subdomain (RFC 1123) in lower case, as most names of Kubernetes' objects are. */
export function isSubdomain(text: string): boolean {
  return text.length <= maxSubdomain && subdomain.test(text);
}

/** Reports whether a string is a DNS subdomain, except that it may have upper case and inner underscores. */
export function isMixedCaseSubdomain(text: string): boolean {
  return text.length <= maxSubdomain && mixedCaseSubdomain.test(text);
}

/** Reports whether a string is the name of a container port: at most 15 characters, at least one letter. */
export function isContainerPortName(text: string): boolean {
  return text.length <= maxPortName && portName.test(text);
}

/** Reports whether a string is an IP address without a zone. */
export function isPlainIpAddress(text: string): boolean {
  return !text.includes("%") && isIpAddress(text);
}

/** Reports whether a string is the key of a label, `name` or `prefix/name`. */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf("/");
  const name = key.slice(slash + 1);
  return name.length <= maxLabel && qualifiedName.test(name) && (slash < 0 || isSubdomain(key.slice(0, slash)));
}

/** Reports whether a string is the value of a label; it may be empty. */
export function isLabelValue(value: string): boolean {
  return value === "" || (value.length <= maxLabel && qualifiedName.test(value));
}
