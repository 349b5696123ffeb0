import { now } from "@istiod/analysis";
import { type CommitTiming, sourceMetrics } from "@istiod/config-ingestion";
import type { Problem } from "@istiod/config-schema";
import type { Commit, Database } from "@istiod/incremental";
import type { Meter } from "@istiod/metrics";
import type { Proxy } from "@istiod/push-context";
import { ChangeAttribution, ChangeLog, changeMetrics, Deliveries, PushTriggers, xdsMetrics } from "@istiod/push-report";
import { monotonicClock } from "@istiod/runtime";
import type { XdsEvent } from "@istiod/xds-server";
import type { Logger } from "pino";
import { changeFields, objectsOf, settledFields } from "./change-log-lines.js";
import { ProblemLog } from "./problem-log.js";
import { xdsLog } from "./xds-log.js";

/** The metrics, logs and memory of commits, pushes and problems. */
export interface Reporting {
  /** The attribution of the xDS server. */
  readonly attribution: ChangeAttribution;
  readonly changes: ChangeLog;
  readonly deliveries: Deliveries;
  /** Must be called with every event of the xDS server. */
  observe(event: XdsEvent): void;
  commitTiming(timing: CommitTiming): void;
  problems(found: readonly Problem[]): void;
  resolved(gone: readonly Problem[]): void;
  /** Starts reporting commits. Must be called once the first full state is committed. */
  started(): void;
  stop(): void;
}

export interface ReportingOptions {
  readonly meter: Meter;
  readonly database: Database<Proxy>;
  readonly log: Logger;
}

const changesKept = 256;

/**
 * Reports the commits of the database and the events of the xDS server. Must be created before the server, so that it
 * observes each commit before the server pushes it.
 */
export function reporting({ meter, database, log }: ReportingOptions): Reporting {
  const pushLog = log.child({ scope: "push" });
  const problemLog = new ProblemLog(log);
  const countXds = xdsMetrics(meter);
  const countChange = changeMetrics(meter);
  const sources = sourceMetrics(meter, database);
  const triggers = new PushTriggers(meter);
  const attribution = new ChangeAttribution(monotonicClock);
  const changes = new ChangeLog({
    keep: changesKept,
    pendingRevision: () => attribution.pendingRevision,
    clock: monotonicClock,
    settled: (report) => {
      countChange(report);
      pushLog.info(settledFields(report), "change settled");
    },
  });
  const deliveries = new Deliveries();
  const logXds = xdsLog(log, (revision) => objectsOf(changes.report(revision)));
  let isStarted = false;
  const committed = (commit: Commit): void => {
    if (!isStarted || commit.changed.every(({ collection }) => collection === now)) return;
    changes.committed(commit);
    sources.committed(commit);
    triggers.committed(commit);
    const report = changes.report(commit.revision);
    if (report !== undefined) pushLog.info(changeFields(commit, report), "changed");
  };
  const stop = database.observe({
    before: () => {
      if (isStarted) attribution.beforeChange();
    },
    after: committed,
  });
  return {
    attribution,
    changes,
    deliveries,
    observe(event) {
      countXds(event);
      if (event.kind === "pushStart") triggers.pushStarted(event.changes);
      changes.observe(event);
      deliveries.observe(event);
      logXds(event);
    },
    commitTiming(timing) {
      if (isStarted) sources.commitTiming(timing);
    },
    problems(found) {
      sources.problems(found);
      problemLog.found(found);
    },
    resolved: (gone) => problemLog.resolved(gone),
    started() {
      isStarted = true;
      sources.countInitial();
    },
    stop,
  };
}
