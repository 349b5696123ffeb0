import { type AddressRules, isOwnAddress } from "../addresses/address-rules.js";
import type { BlockedReason } from "../addresses/checked-lookup.js";

/**
 * Returns a function that gives the rule for the first hop of a fetch, or for those after a redirect. A redirect leads
 * to this machine only if the fetch began there: what listens on loopback trusts its callers, and another server must
 * not choose what is called there.
 */
export function hopRules(rules: Pick<AddressRules, "blockedReason">): (isFirst: boolean) => BlockedReason {
  let beganHere = false;
  return (isFirst) => (address) => {
    const reason = rules.blockedReason(address);
    if (reason !== undefined || !isOwnAddress(address)) return reason;
    if (isFirst) beganHere = true;
    return beganHere ? undefined : "is an address of this machine, to which another server redirects";
  };
}
