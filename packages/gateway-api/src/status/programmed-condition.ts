import type { AssignedAddresses } from "./assigned-addresses.js";
import { condition, enumeration, type StatusCondition } from "./conditions.js";

/**
 * Returns the condition Programmed of a Gateway or ListenerSet.
 *
 * @param hostnames of the Services of the Gateway
 */
export function programmedCondition(
  hostnames: readonly string[],
  { internal, warnings, areUsable }: AssignedAddresses,
): StatusCondition {
  const assigned = internal.length === 0 ? "" : `, assigned to service(s) ${enumeration(internal)}`;
  const holds = { reason: "Programmed", message: `Resource programmed${assigned}` };
  if (hostnames.length === 0)
    return condition("Programmed", holds, {
      reason: "UnsupportedAddress",
      message: "Failed to assign to any requested addresses",
    });
  if (warnings.length === 0) return condition("Programmed", holds);
  const failure =
    internal.length === 0
      ? "Failed to assign to any requested addresses"
      : `Assigned to service(s) ${enumeration(internal)}, but failed to assign to all requested addresses`;
  return condition("Programmed", holds, {
    reason: areUsable ? "AddressNotAssigned" : "AddressNotUsable",
    message: `${failure}: ${warnings.join("; ")}`,
  });
}
