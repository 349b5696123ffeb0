import { now } from "@istiod/analysis";
import { type CommitTiming } from "@istiod/config-ingestion";
import { formatProblem, type Problem } from "@istiod/config-schema";
import type { Commit, Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { ChangeAttribution, ChangeLog, type ChangeReport, Deliveries, formatName } from "@istiod/push-report";
import { xdsShortName } from "@istiod/resources";
import type { Clock, PushEvent, XdsEvent } from "@istiod/xds-server";
import { performance } from "node:perf_hooks";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { changeMetrics } from "./metrics/change-metrics.js";
import { processMetrics } from "./metrics/process-metrics.js";
import { reasonsOf, sourceMetrics } from "./metrics/source-metrics.js";
import { xdsMetrics } from "./metrics/xds-metrics.js";

/** What is counted, remembered and logged of what happens. */
export interface Reporting {
  /** For the xDS server. `beforeChange` must be called before each commit. */
  readonly attribution: ChangeAttribution;
  readonly changes: ChangeLog;
  readonly deliveries: Deliveries;
  /** To be given every event of the xDS server. */
  observe(event: XdsEvent): void;
  /** Observes how long a burst of changes took to be committed. */
  commitTiming(timing: CommitTiming): void;
  problems(found: readonly Problem[]): void;
  resolved(gone: readonly Problem[]): void;
  /** Starts reporting commits, after that of the first full state. */
  started(): void;
  stop(): void;
}

export interface ReportingOptions {
  readonly registry: Registry;
  readonly database: Database<Proxy>;
  readonly version: string;
  readonly log: Logger;
}

const objectsLogged = 10;
const changesRemembered = 256;

const clock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Reports the commits of the database and the events of the xDS server. It is created before the server, so that it
 * observes each commit before the server pushes it.
 */
export function reporting({ registry, database, version, log }: ReportingOptions): Reporting {
  const stopProcess = processMetrics(registry, version);
  const feedXds = xdsMetrics(registry);
  const feedChange = changeMetrics(registry);
  const logs = {
    push: log.child({ scope: "push" }),
    validation: log.child({ scope: "validation" }),
    sotw: log.child({ scope: "ads" }),
    delta: log.child({ scope: "delta" }),
  };
  const sources = sourceMetrics(registry, database);
  let isStarted = false;
  const attribution = new ChangeAttribution(clock);
  const changes = new ChangeLog({
    keep: changesRemembered,
    pendingRevision: () => attribution.pendingRevision,
    clock,
    settled: (report) => {
      feedChange(report);
      logs.push.info(summary(report), "change settled");
    },
  });
  const deliveries = new Deliveries();
  const committed = (commit: Commit): void => {
    if (!isStarted || commit.changed.every(({ collection }) => collection === now)) return;
    changes.committed(commit);
    sources.committed(commit);
    const report = changes.report(commit.revision);
    if (report !== undefined)
      logs.push.info(
        { revision: commit.revision, objects: causes(report), count: report.objectCount, reasons: reasonsOf(commit) },
        "changed",
      );
  };
  const stopObserving = database.observe({
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
      feedXds(event);
      if (event.kind === "pushStart") sources.pushStarted(event.changes);
      changes.observe(event);
      deliveries.observe(event);
      logEvent(logs[event.kind === "refused" ? "sotw" : event.variant], event, (revision) =>
        causes(changes.report(revision)),
      );
    },
    commitTiming(timing) {
      if (isStarted) sources.commitTiming(timing);
    },
    problems(found) {
      sources.problems(found);
      for (const problem of found) {
        const object = problem.subject ? formatName(problem.subject) : undefined;
        logs.validation[problem.severity === "error" ? "error" : "warn"](
          { ...(object && { object }), file: problem.file, line: problem.line },
          formatProblem(problem),
        );
      }
    },
    resolved(gone) {
      for (const problem of gone)
        logs.validation.info(
          { ...(problem.subject && { object: formatName(problem.subject) }) },
          `resolved: ${formatProblem(problem)}`,
        );
    },
    started() {
      isStarted = true;
      sources.countInitial();
    },
    stop() {
      stopObserving();
      stopProcess();
    },
  };
}

function causes(report: ChangeReport | undefined): string[] {
  return report?.objects.slice(0, objectsLogged).map(formatName) ?? [];
}

function summary(report: ChangeReport): object {
  const {
    revision,
    objectCount,
    proxies,
    responses,
    resources,
    removed,
    bytes,
    firstAckMs,
    lastAckMs,
    acks,
    nackCount,
  } = report;
  const rounded = (ms: number | undefined): number | undefined =>
    ms === undefined ? undefined : Math.round(ms * 10) / 10;
  return {
    revision,
    objects: causes(report),
    objectCount,
    proxies,
    responses,
    resources,
    removed,
    bytes,
    acks,
    nacks: nackCount,
    firstAckMs: rounded(firstAckMs),
    lastAckMs: rounded(lastAckMs),
  };
}

/**
 * What a response was, by the words of Istio's line about it: type, reason, node, how many resources, how many bytes.
 */
function pushed(event: PushEvent, causesOf: (revision: number) => string[]): object {
  const { nodeId, connection, typeUrl, reason, resources, removed, bytes, nonce, version, revision, changes } = event;
  const cause = changes.length > 0 ? { revision, cause: [...new Set(changes.flatMap(causesOf))] } : {};
  return {
    type: xdsShortName(typeUrl).toUpperCase(),
    reason,
    node: nodeId,
    connection,
    resources,
    removed,
    size: bytes,
    nonce,
    version,
    ...cause,
  };
}

/** What was thrown inside, with its stack. */
function thrown(cause: unknown): { readonly err?: Error } {
  if (cause === undefined) return {};
  return { err: cause instanceof Error ? cause : new Error(String(cause)) };
}

/** One line for what people look for: who came and went, who refused what, and what had changed. */
function logEvent(log: Logger, event: XdsEvent, causesOf: (revision: number) => string[]): void {
  switch (event.kind) {
    case "nack": {
      const { revision, resources, message, nonce } = event.error;
      const because = revision === undefined ? {} : { revision, cause: causesOf(revision) };
      log.warn(
        {
          proxy: event.nodeId,
          connection: event.connection,
          type: xdsShortName(event.typeUrl),
          resources,
          nonce,
          ...because,
        },
        `refused by the proxy: ${message}`,
      );
      break;
    }
    case "connect":
      log.info({ proxy: event.nodeId, connection: event.connection, variant: event.variant }, "connected");
      break;
    case "disconnect":
      log[event.cause === undefined ? "info" : "error"](
        { proxy: event.nodeId, connection: event.connection, ...thrown(event.cause) },
        `disconnected: ${event.reason}`,
      );
      break;
    case "failure":
      log.error(
        { proxy: event.nodeId, type: xdsShortName(event.typeUrl), ...thrown(event.error) },
        "generation failed, keeping the last good config",
      );
      break;
    case "refused":
      log.warn({ peer: event.peer.address, code: event.code, ...thrown(event.cause) }, `refused: ${event.message}`);
      break;
    case "push":
      if (log.isLevelEnabled("debug")) log.debug(pushed(event, causesOf), "xds push");
      break;
  }
}
