/** Counts of messages in one direction. */
export interface Traffic {
  messages: number;
  resources: number;
  /** Names in `removed_resources`. */
  removed: number;
  /** gRPC message bytes with the prefix of five. */
  bytes: number;
}

export const noTraffic = (): Traffic => ({ messages: 0, resources: 0, removed: 0, bytes: 0 });

export function addTraffic(to: Traffic, more: Traffic): void {
  to.messages += more.messages;
  to.resources += more.resources;
  to.removed += more.removed;
  to.bytes += more.bytes;
}

/** The traffic of a part of the fleet in one step. Times are milliseconds since the epoch. */
export interface PartReport {
  /** Proxies that received at least one response. */
  readonly touched: number;
  readonly firstResponseAt: number | undefined;
  /** Of each proxy that was touched: when its last acknowledgement was handed to the transport. */
  readonly lastAcksAt: readonly number[];
  /** By type URL. */
  readonly types: Readonly<Record<string, Traffic>>;
  readonly requests: { readonly messages: number; readonly bytes: number };
  /** Counts of broken streams by reason. */
  readonly broken: Readonly<Record<string, number>>;
  readonly incomplete: number;
}

/** Returns the sum of the reports of all parts. */
export function mergeReports(parts: readonly PartReport[]): PartReport {
  const types: Record<string, Traffic> = {};
  const broken: Record<string, number> = {};
  const requests = { messages: 0, bytes: 0 };
  for (const part of parts) {
    for (const [type, traffic] of Object.entries(part.types)) addTraffic((types[type] ??= noTraffic()), traffic);
    for (const [reason, times] of Object.entries(part.broken)) broken[reason] = (broken[reason] ?? 0) + times;
    requests.messages += part.requests.messages;
    requests.bytes += part.requests.bytes;
  }
  const first = parts.flatMap(({ firstResponseAt }) => firstResponseAt ?? []);
  return {
    touched: parts.reduce((sum, { touched }) => sum + touched, 0),
    firstResponseAt: first.length === 0 ? undefined : Math.min(...first),
    lastAcksAt: parts.flatMap(({ lastAcksAt }) => lastAcksAt),
    types,
    requests,
    broken,
    incomplete: parts.reduce((sum, { incomplete }) => sum + incomplete, 0),
  };
}

export function totalOf(types: Readonly<Record<string, Traffic>>): Traffic {
  const total = noTraffic();
  for (const traffic of Object.values(types)) addTraffic(total, traffic);
  return total;
}
