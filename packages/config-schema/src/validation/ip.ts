import { isIP } from "node:net";

/** An IPv4 or IPv6 address; an IPv6 one may have a zone. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0;
}

/** `address/bits`, where the address may have bits set after the prefix. */
export function isCidr(text: string): boolean {
  const slash = text.indexOf("/");
  const family = slash < 0 ? 0 : isIP(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  return (
    family !== 0 && !text.includes("%") && /^(?:0|[1-9]\d*)$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
  );
}
