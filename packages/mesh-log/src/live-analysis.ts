import { type Finding, formatOrigin, levelOf, levels, LiveAnalysis, type Message } from "@istiod/analysis";
import type { DirectorySource } from "@istiod/config-ingestion";
import type { Kind, Problem } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { noProxy, type Proxy } from "@istiod/push-context";
import type { Logger } from "pino";

export interface AnalysisOptions {
  readonly database: Database<Proxy>;
  readonly kinds: readonly Kind[];
  readonly sources: readonly DirectorySource[];
  readonly problems: () => readonly Problem[];
  readonly log: Logger;
}

/** Log lines about one change; of further findings only the number is logged. */
const linesLogged = 20;

/** The findings about the mesh while istiod runs. New ones are logged with file and line. */
export function liveAnalysis({ log, ...options }: AnalysisOptions): LiveAnalysis<Proxy> {
  const analysis: LiveAnalysis<Proxy> = new LiveAnalysis({
    ...options,
    client: noProxy,
    changed: (found, gone) => {
      const groups = groupByMessage(found);
      const shown = groups.slice(0, linesLogged);
      void analysis
        .place(shown.map(([first]) => first))
        .then((messages) => messages.forEach((message, i) => logMessage(log, message, shown[i]?.length ?? 1)));
      if (groups.length > linesLogged)
        log.warn({ findings: groups.slice(linesLogged).flat().length }, "more findings, run istiod analyze");
      for (const { code, origin, message } of gone.slice(0, linesLogged))
        log.info({ code, object: formatOrigin(origin) }, `resolved: ${message}`);
    },
  });
  return analysis;
}

/**
 * Groups findings that say the same of several objects, such as that their kind has no effect; the most severe first.
 */
function groupByMessage(found: readonly Finding[]): readonly (readonly [Finding, ...Finding[]])[] {
  const groups = new Map<string, [Finding, ...Finding[]]>();
  for (const finding of found) {
    const group = groups.get(`${finding.code} ${finding.message}`);
    if (group === undefined) groups.set(`${finding.code} ${finding.message}`, [finding]);
    else group.push(finding);
  }
  return [...groups.values()].sort(([a], [b]) => severity(a) - severity(b));
}

function severity(finding: Finding): number {
  return levels.indexOf(levelOf(finding));
}

/** @param count the objects of which it is said; the message names the first one */
function logMessage(log: Logger, { level, code, origin, reference, message }: Message, count: number): void {
  const at = { code, ...(count > 1 && { count }), ...(origin && { object: origin }), ...(reference && { reference }) };
  log[level === "Error" ? "error" : level === "Warning" ? "warn" : "info"](at, message);
}
