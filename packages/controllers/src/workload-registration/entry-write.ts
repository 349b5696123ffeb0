import { type Collection, query, type QueryContext } from "@istiod/incremental";
import type { Controller, Observed } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import {
  annotations,
  entryFromGroup,
  type ObservedEntry,
  type ObservedGroup,
  workloadEntryType,
} from "./observed-entries.js";
import {
  cleanupWrite,
  connectedAnnotations,
  connectedWrite,
  disconnectedWrite,
  isTransient,
  type RegistrationPolicy,
} from "./registration-state.js";
import type { Registration } from "./workload.js";

/** The inputs that WorkloadEntries depend on, by `namespace/name`. */
export interface RegistrationInputs {
  readonly registrations: Collection<Registration>;
  readonly entries: Collection<Observed<ObservedEntry>>;
  readonly groups: Collection<Observed<ObservedGroup>>;
  /** Milliseconds since the epoch, as the empty key. */
  readonly now: Collection<number>;
}

/** Returns the queries for the WorkloadEntries to keep and for the write that each of them needs. */
export function entryWrites(
  inputs: RegistrationInputs,
  policy: RegistrationPolicy,
): Pick<Controller, "targets" | "write"> {
  const { registrations, entries, now } = inputs;
  const targets = query("workloadEntriesToKeep", (q): readonly string[] => [
    ...new Set([...q.keys(registrations), ...q.keys(entries)]),
  ]);
  const write = query("workloadEntry", (q, key: string): Write | undefined => {
    const registration = q.read(registrations, key);
    const observed = q.read(entries, key);
    const slash = key.indexOf("/");
    const at = { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
    if (observed === undefined) return createWrite(q, inputs, at, registration, policy.identity);
    const target = { ...at, observed };
    const isConnected = registration !== undefined && isOpen(registration);
    const own =
      registration === undefined
        ? undefined
        : isConnected
          ? connectedWrite(target, registration, policy.identity)
          : disconnectedWrite(target, registration, policy.identity);
    if (own !== undefined || isConnected || !isTransient(observed.value)) return own;
    return cleanupWrite(target, q.read(now, "") ?? 0, policy);
  });
  return { targets, write };
}

function isOpen({ disconnectedAt }: Registration): boolean {
  return disconnectedAt === undefined;
}

/** Returns the write that creates the WorkloadEntry of a connected workload whose WorkloadGroup exists. */
function createWrite(
  q: QueryContext,
  { groups }: RegistrationInputs,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  registration: Registration | undefined,
  identity: string,
): Write | undefined {
  if (registration === undefined || !isOpen(registration) || !registration.workload.group) return undefined;
  const { workload, connectedAt } = registration;
  const group = q.read(groups, `${namespace}/${workload.group}`);
  if (group === undefined) return undefined;
  const entry = entryFromGroup(name, workload, { ...group.value, uid: group.uid });
  const { [annotations.disconnectedAt]: _none, ...given } = connectedAnnotations(identity, connectedAt);
  const metadata = { ...entry.metadata, annotations: { ...entry.metadata?.annotations, ...given } };
  return { action: "create", type: workloadEntryType, base: undefined, object: { ...entry, metadata } as never };
}
