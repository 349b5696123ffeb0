import type { KubernetesObject } from "@istiod/kubernetes";

/** An address that is allocated to a host of a ServiceEntry. */
export interface HostAddress {
  readonly host: string;
  readonly value: string;
}

/** The fields of a ServiceEntry that the allocation reads. */
export interface ObservedServiceEntry {
  /** False: it was deleted, and only its former addresses are kept. */
  readonly exists: boolean;
  /** Hosts that need addresses, each once. Empty if none are allocated for it. */
  readonly hosts: readonly string[];
  /** Addresses that its author gives. */
  readonly userAddresses: readonly string[];
  /** Addresses in its status. */
  readonly allocated: readonly HostAddress[];
  /** As in the object: RFC 3339, which sorts by time. */
  readonly creationTimestamp: string;
  /** The last addresses that it had and has no more. They are allocated again only if no others are left. */
  readonly former: readonly string[];
}

interface ServiceEntry extends KubernetesObject {
  readonly spec?: {
    readonly hosts?: readonly string[];
    readonly addresses?: readonly string[];
    readonly resolution?: string;
  };
  readonly status?: { readonly addresses?: readonly Partial<HostAddress>[] };
}

const optOutLabel = "networking.istio.io/enable-autoallocate-ip";
const maxFormer = 16;

/** Returns the fields of a ServiceEntry that the allocation reads. */
export function observeServiceEntry(
  { metadata, spec = {}, status }: ServiceEntry,
  before: ObservedServiceEntry | undefined,
): ObservedServiceEntry {
  const allocated = (status?.addresses ?? []).map(({ host = "", value = "" }) => ({ host, value }));
  const userAddresses = spec.addresses ?? [];
  const isEligible =
    (spec.resolution ?? "NONE") !== "NONE" &&
    userAddresses.length === 0 &&
    metadata?.labels?.[optOutLabel]?.toLowerCase() !== "false";
  // Wildcards have addresses only where the proxy resolves the requested name.
  const isKept = (host: string): boolean => !host.startsWith("*") || spec.resolution === "DYNAMIC_DNS";
  return {
    exists: true,
    hosts: isEligible ? [...new Set(spec.hosts)].filter(isKept) : [],
    userAddresses,
    allocated,
    creationTimestamp: String(metadata?.["creationTimestamp"] ?? ""),
    former: formerAddresses(before, allocated),
  };
}

/** Returns what remains of a deleted ServiceEntry. */
export function deletedServiceEntry(before: ObservedServiceEntry): ObservedServiceEntry | undefined {
  const former = formerAddresses(before, []);
  if (former.length === 0) return undefined;
  return { ...before, exists: false, hosts: [], userAddresses: [], allocated: [], former };
}

function formerAddresses(before: ObservedServiceEntry | undefined, now: readonly HostAddress[]): readonly string[] {
  const current = new Set(now.map(({ value }) => value));
  const all = new Set([...(before?.former ?? []), ...(before?.allocated ?? []).map(({ value }) => value)]);
  return [...all].filter((value) => !current.has(value)).slice(-maxFormer);
}
