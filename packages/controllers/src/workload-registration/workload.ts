import { createHash } from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";

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

const maxNameLength = 253;
const digestLength = 20;

/** Parts of the name of a WorkloadEntry, as they are in it. */
type NameParts = readonly [group: string, address: string, ...network: string[]];

/**
 * Returns the name of a workload's WorkloadEntry; undefined if it has none. The name is Istio's, group, address and
 * network joined by hyphens, unless it is too long or could be that of another workload: it then ends in a digest, so
 * that each workload has a WorkloadEntry of its own.
 */
export function entryNameOf({ group, entry, address, network }: Workload): string | undefined {
  if (group === undefined) return entry;
  const parts: NameParts = [group, address.replaceAll(":", "-"), ...(network === undefined ? [] : [network])];
  const name = parts.join("-");
  if (name.length <= maxNameLength && !endsInDigest.test(name) && isSame(partsOf(name), parts)) return name;
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, digestLength);
  // The end distinguishes workloads, and a name begins with a letter or digit.
  const end = name.slice(-(maxNameLength - digestLength - 1)).replace(/^[-.]+/, "");
  return `${end}-${digest}`;
}

const endsInDigest = new RegExp(`-[0-9a-f]{${digestLength}}$`);

/**
 * Returns the parts of which a name consists, of several possibilities the one without a network, else the one with the
 * longest address, else the one with the shortest group; undefined if there is none.
 */
function partsOf(name: string): NameParts | undefined {
  const hyphens = [...name.matchAll(/-/g)].map(({ index }) => index);
  let found: NameParts | undefined;
  for (const start of hyphens) {
    const rest = name.slice(start + 1);
    if (isAddress(rest)) return [name.slice(0, start), rest];
    for (const end of hyphens) {
      const address = name.slice(start + 1, end);
      if (end <= start + 1 || address.length <= (found?.[1].length ?? 0) || !isAddress(address)) continue;
      found = [name.slice(0, start), address, name.slice(end + 1)];
    }
  }
  return found;
}

/** Reports whether a text can be an address. IPv6 addresses of hosts begin so; the end of a group, `db-`, does not. */
function isAddress(text: string): boolean {
  const address = text.replaceAll("-", ":");
  return isIPv4(address) || (/^([23]...|f[cd]..|fe[89ab].|:):/i.test(address) && isIPv6(address));
}

function isSame(a: NameParts | undefined, b: NameParts): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
