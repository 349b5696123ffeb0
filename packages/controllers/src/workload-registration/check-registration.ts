import type { ObservedEntry, ObservedGroup } from "./observed-entries.js";
import { RegistrationError } from "./registration-error.js";
import type { Workload } from "./workload.js";

/** The observed objects that a registration depends on. */
export interface RegistrationObjects {
  /** `namespace/name` of the WorkloadEntry. */
  readonly key: string;
  /** Undefined: there is no such WorkloadEntry. */
  readonly entry: ObservedEntry | undefined;
  /** Undefined: the workload names no WorkloadGroup, or there is no such WorkloadGroup. */
  readonly group: ObservedGroup | undefined;
}

/**
 * Checks that a workload may have its WorkloadEntry: that the WorkloadEntry or its WorkloadGroup exists, and, if asked
 * for, that the workload has the identity that they state.
 *
 * @throws RegistrationError `precondition` or `denied`
 */
export function checkRegistration(workload: Workload, objects: RegistrationObjects, validatesIdentity: boolean): void {
  checkExistence(workload, objects);
  if (validatesIdentity) checkIdentity(workload, objects);
}

function checkExistence({ id, namespace, group }: Workload, objects: RegistrationObjects): void {
  if (objects.entry !== undefined || objects.group !== undefined) return;
  const missing = group === undefined ? `WorkloadEntry ${objects.key}` : `WorkloadGroup ${namespace}/${group}`;
  throw new RegistrationError(
    "precondition",
    `auto-registration WorkloadEntry of ${id} failed: cannot find ${missing}`,
  );
}

function checkIdentity({ namespace, identity }: Workload, { key, entry, group }: RegistrationObjects): void {
  const deny = (reason: string): never => {
    throw new RegistrationError("denied", `registration of WorkloadEntry ${key}: ${reason}`);
  };
  if (identity === undefined) return deny("requires a verified identity");
  if (identity.namespace !== namespace) return deny(`namespace mismatch: ${identity.namespace}`);
  const account = entry?.serviceAccount ?? (group?.template["serviceAccount"] as string | undefined) ?? "";
  if (account !== "" && identity.serviceAccount !== account)
    deny(`service account mismatch: ${identity.serviceAccount}, expected ${account}`);
}
