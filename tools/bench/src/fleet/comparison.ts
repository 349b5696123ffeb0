import type { ChangeReport } from "@istiod/push-report";
import { clusterType, endpointType, listenerType, routeType, xdsShortName } from "@istiod/resources";
import type { Counters } from "../server/self-report.js";
import { type PartReport, totalOf } from "./traffic.js";

/** Compared types by URL, with their short names. */
export const shortNames: Readonly<Record<string, string>> = Object.fromEntries(
  [clusterType, endpointType, listenerType, routeType].map((typeUrl) => [typeUrl, xdsShortName(typeUrl)]),
);

/** Tolerance for istiod's times, in milliseconds: clocks of two processes, and time in the socket. */
const toleranceMs = 20;
const grpcPrefix = 5;

/** Responses of a step according to istiod's metrics. */
export interface Counted {
  readonly before: Counters;
  readonly after: Counters;
}

/** The sum of istiod's reports on the changes of a step. Times are milliseconds since the epoch. */
export interface ReportedChange {
  readonly commits: number;
  /** Of the commit that touched most. */
  readonly proxies: number;
  readonly responses: number;
  readonly resources: number;
  readonly removed: number;
  readonly bytes: number;
  readonly acks: number;
  readonly pending: number;
  readonly firstAckAt: number | undefined;
  readonly lastAckAt: number | undefined;
}

export function reportedChange(reports: readonly ChangeReport[]): ReportedChange {
  const sum = (of: (report: ChangeReport) => number): number =>
    reports.reduce((total, report) => total + of(report), 0);
  const times = (of: (report: ChangeReport) => number | undefined): number[] =>
    reports.flatMap((report) => (of(report) === undefined ? [] : [report.at + (of(report) ?? 0)]));
  const firstAcks = times(({ firstAckMs }) => firstAckMs);
  const lastAcks = times(({ lastAckMs }) => lastAckMs);
  return {
    commits: reports.length,
    proxies: Math.max(0, ...reports.map(({ proxies }) => proxies)),
    responses: sum(({ responses }) => responses),
    resources: sum(({ resources }) => resources),
    removed: sum(({ removed }) => removed),
    bytes: sum(({ bytes }) => bytes),
    acks: sum(({ acks }) => acks),
    pending: sum(({ pending }) => pending),
    firstAckAt: firstAcks.length === 0 ? undefined : Math.min(...firstAcks),
    lastAckAt: lastAcks.length === 0 ? undefined : Math.max(...lastAcks),
  };
}

/**
 * Returns the differences between istiod's account of a step and the proxies', one sentence each. istiod's metrics
 * count all responses. Its report of a change counts only pushes that the change caused, not responses to the
 * subscriptions that follow, so its figures may be lower.
 */
export function mismatches(
  seen: PartReport,
  counted: Counted | undefined,
  change: ReportedChange | undefined,
  proxies: number,
): string[] {
  const found: string[] = [];
  const equal = (what: string, istiod: number, client: number): void => {
    if (istiod !== client) found.push(`${what}: istiod says ${istiod}, the proxies saw ${client}`);
  };
  if (counted !== undefined) {
    equal("proxies connected", counted.after.proxies, proxies);
    for (const [type, short] of Object.entries(shortNames)) {
      const { messages = 0, bytes = 0 } = seen.types[type] ?? {};
      equal(
        `${short} responses by metrics`,
        (counted.after.pushes[short] ?? 0) - (counted.before.pushes[short] ?? 0),
        messages,
      );
      equal(
        `${short} bytes by metrics`,
        (counted.after.bytes[type] ?? 0) - (counted.before.bytes[type] ?? 0),
        bytes - messages * grpcPrefix,
      );
    }
  }
  if (change === undefined) return found;
  const { messages, resources, removed, bytes } = totalOf(seen.types);
  equal("responses that await an answer", change.pending, 0);
  equal("acknowledgements of the change's responses", change.acks, change.responses);
  if (change.responses < messages) {
    const least = (what: string, istiod: number, client: number): void => {
      if (istiod > client) found.push(`${what}: istiod says ${istiod}, the proxies saw only ${client}`);
    };
    least("proxies touched by the change", change.proxies, seen.touched);
    least("resources of the change", change.resources, resources);
    least("bytes of the change", change.bytes, bytes - messages * grpcPrefix);
    return found;
  }
  if (change.commits === 1) equal("proxies touched by the change", change.proxies, seen.touched);
  equal("responses of the change", change.responses, messages);
  equal("resources of the change", change.resources, resources);
  equal("resources removed by the change", change.removed, removed);
  equal("bytes of the change", change.bytes, bytes - messages * grpcPrefix);
  const last = seen.lastAcksAt.reduce((a, b) => Math.max(a, b), -Infinity);
  if (change.lastAckAt !== undefined && change.lastAckAt < last - toleranceMs) {
    found.push(
      `last acknowledgement: istiod says that it came ${(last - change.lastAckAt).toFixed(0)} ms before the last proxy sent it`,
    );
  }
  return found;
}
