import { wildcardDomainFault } from "../../../validation/names.js";

/**
 * What is wrong with a host, or undefined if nothing is. `sniOfGateway`: SNI names that istiod makes for traffic that a
 * gateway passes through, `outbound_.port_.subset_.host`, are hosts too.
 */
export function virtualHostFault(host: string, sniOfGateway: boolean): string | undefined {
  if (!sniOfGateway || !host.startsWith("outbound_") || host.length > 255) return wildcardDomainFault(host);
  const parts = host.split("_");
  const port = parts[1] ?? "";
  const name = parts[3] ?? "";
  return parts.length >= 4 && /[0-9]/.test(port) && /[a-zA-Z]/.test(name)
    ? undefined
    : `is ${JSON.stringify(host)}, expected outbound_.<port>_.<subset>_.<host>`;
}
