import { isIP } from "node:net";

/** Reports whether a string is an IPv4 or IPv6 address. An IPv6 address may have a zone. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0;
}

/** Reports whether a string is a CIDR range. The address may have bits set after the prefix. */
export function isCidr(text: string): boolean {
  const slash = text.indexOf("/");
  const family = slash < 0 ? 0 : isIP(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  return (
    family !== 0 && !text.includes("%") && /^(?:0|[1-9]\d*)$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
  );
}
