import { wildcardDomainFault } from "../../../validation/network/names.js";

/**
 * Returns the fault of a host; undefined if it is valid.
 *
 * @param sniOfGateway also allow the SNI names that istiod generates for traffic passed through a gateway,
 *   `outbound_.port_.subset_.host`
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
