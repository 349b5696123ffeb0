/** A workload that a connected proxy represents, by the metadata of its node. */
export interface Workload {
  /** ID of the proxy, for messages. */
  readonly id: string;
  readonly namespace: string;
  /** The WorkloadGroup that it registers with (`AUTO_REGISTER_GROUP`). */
  readonly group?: string;
  /** The existing WorkloadEntry that it belongs to (`WORKLOAD_ENTRY`). Not used with a group. */
  readonly entry?: string;
  readonly address: string;
  readonly network?: string;
  /** `region/zone/subzone`. */
  readonly locality?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Accepts tunnels (`ENABLE_HBONE`). */
  readonly acceptsTunnels: boolean;
  /** Its agent probes the application. */
  readonly isProbed: boolean;
  /** Undefined: the proxy is not authenticated. */
  readonly identity?: { readonly namespace: string; readonly serviceAccount: string };
}

/** The health of a workload, as its agent reports it. */
export interface Health {
  readonly isHealthy: boolean;
  readonly message: string;
  /** Time of the report in milliseconds since the epoch. */
  readonly at: number;
}

/** A workload's relation to this istiod, as an input. */
export interface Registration {
  readonly workload: Workload;
  /** Milliseconds since the epoch of the newest stream. */
  readonly connectedAt: number;
  /** Time at which the last stream ended. Absent: connected. */
  readonly disconnectedAt?: number;
  readonly health?: Health;
}

export const maxNameLength = 253;

/** Returns the name of a workload's WorkloadEntry; undefined if it has none. */
export function entryNameOf({ group, entry, address, network }: Workload): string | undefined {
  if (group === undefined) return entry;
  const parts = [group, address.replaceAll(":", "-"), ...(network === undefined ? [] : [network])];
  // The end distinguishes workloads.
  return parts.join("-").slice(-maxNameLength);
}
