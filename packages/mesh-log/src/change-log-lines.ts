import type { Commit } from "@istiod/incremental";
import { type ChangeReport, formatName, triggersOf } from "@istiod/push-report";

/** Maximum number of objects in a log line. */
const objectsLogged = 10;

/** Returns the names of the first objects of a change. */
export function objectsOf(report: ChangeReport | undefined): readonly string[] {
  return report?.objects.slice(0, objectsLogged).map(formatName) ?? [];
}

/** Fields of the line about a new change. */
export function changeFields(commit: Commit, report: ChangeReport): object {
  return {
    revision: commit.revision,
    objects: objectsOf(report),
    count: report.objectCount,
    reasons: triggersOf(commit),
  };
}

/** Fields of the line about a change to which every proxy has responded. Times are in milliseconds. */
export function settledFields(report: ChangeReport): object {
  const { revision, objectCount, proxies, responses, resources, removed, bytes, acks, nackCount } = report;
  return {
    revision,
    objects: objectsOf(report),
    objectCount,
    proxies,
    responses,
    resources,
    removed,
    bytes,
    acks,
    nacks: nackCount,
    firstAckMs: toTenths(report.firstAckMs),
    lastAckMs: toTenths(report.lastAckMs),
  };
}

function toTenths(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10;
}
