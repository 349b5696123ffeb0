import { isIP, isIPv4 } from "node:net";
import { type CaptureConfig, splitList } from "./capture-config.js";
import { RedirectionError } from "./errors.js";

const OWNER = /^[\w][\w.-]*$/;
const INTERFACE = /^[\w][\w.@+-]{0,14}$/;
const NUMBER = /^\d{1,10}$/;
/** Istio's limit: most distributions support no more matches in a rule. */
const MAX_OWNER_GROUPS = 64;

/**
 * Validates a configuration, so that only ports, addresses, owners and interfaces become parts of rules.
 *
 * @throws RedirectionError `setting` that names the setting
 */
export function validateCaptureConfig(config: CaptureConfig): void {
  for (const setting of ["proxyPort", "inboundCapturePort"] as const)
    if (!isPort(config[setting]) || Number(config[setting]) === 0)
      reject(setting, config[setting], "must be a port from 1 to 65535");
  if (!isPortRange(config.inboundTunnelPort)) reject("inboundTunnelPort", config.inboundTunnelPort, "must be a port");
  for (const setting of ["tproxyMark", "tproxyRouteTable"] as const)
    if (!NUMBER.test(config[setting])) reject(setting, config[setting], "must be a number");
  if (!["REDIRECT", "TPROXY"].includes(config.inboundMode))
    reject("inboundMode", config.inboundMode, "must be REDIRECT or TPROXY");
  if (config.inboundPorts !== "*") validateItems(config, "inboundPorts", isPortRange, "must be a port");
  for (const setting of ["inboundPortsExclude", "outboundPorts", "outboundPortsExclude"] as const)
    validateItems(config, setting, isPortRange, "must be a port");
  for (const setting of ["proxyUid", "proxyGid", "ownerGroupsExclude"] as const)
    validateItems(config, setting, isOwner, "must be a user or group");
  if (config.ownerGroups !== "*") {
    validateItems(config, "ownerGroups", isOwner, "must be a group");
    if (splitList(config.ownerGroups).length > MAX_OWNER_GROUPS)
      reject("ownerGroups", config.ownerGroups, `must have at most ${MAX_OWNER_GROUPS} groups`);
  }
  for (const setting of ["virtualInterfaces", "excludeInterfaces"] as const)
    validateItems(config, setting, isInterface, "must be the name of an interface");
  validateAddresses(config);
}

function validateAddresses({ outboundRanges, outboundRangesExclude, dnsServers, loopback }: CaptureConfig): void {
  if (outboundRanges !== "*") validateRanges("outboundRanges", outboundRanges);
  validateRanges("outboundRangesExclude", outboundRangesExclude);
  for (const server of dnsServers) if (isIP(server) === 0) reject("dnsServers", server, "must be an IP address");
  const [address = "", bits] = loopback.split("/");
  if (!isRange(loopback) || !isIPv4(address) || !address.startsWith("127.") || Number(bits) < 8)
    reject("loopback", loopback, "must be a range within 127.0.0.0/8");
}

function validateItems(
  config: CaptureConfig,
  setting: keyof CaptureConfig,
  isValid: (item: string) => boolean,
  rule: string,
): void {
  for (const item of splitList(String(config[setting]))) if (!isValid(item)) reject(setting, item, rule);
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65535;
}

/** Reports whether text is a port or a range of ports, such as `8000:8010`. */
function isPortRange(text: string): boolean {
  const [first = "", last = first, ...more] = text.split(":");
  return more.length === 0 && isPort(first) && isPort(last) && Number(first) <= Number(last);
}

function isOwner(text: string): boolean {
  return OWNER.test(text);
}

function isInterface(text: string): boolean {
  return INTERFACE.test(text);
}

function validateRanges(setting: keyof CaptureConfig, ranges: string): void {
  for (const range of splitList(ranges))
    if (!isRange(range)) reject(setting, range, "must be a CIDR range such as 10.0.0.0/8");
}

function isRange(text: string): boolean {
  const [address = "", bits = "", more] = text.split("/");
  const version = isIP(address);
  // A zone, as in fe80::1%eth0, is not part of a range.
  return (
    more === undefined &&
    version !== 0 &&
    !address.includes("%") &&
    /^\d{1,3}$/.test(bits) &&
    Number(bits) <= (version === 4 ? 32 : 128)
  );
}

function reject(setting: keyof CaptureConfig, value: string, rule: string): never {
  throw new RedirectionError("setting", `${setting}: ${JSON.stringify(value)}: ${rule}`);
}
