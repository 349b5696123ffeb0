import { type Finding, formatOrigin, levels, LiveAnalysis, type Message, messageTypes } from "@istiod/analysis";
import type { DirectorySource, Kind, Problem } from "@istiod/config-ingestion";
import type { Database } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import type { Logger } from "pino";

export interface AnalysisOptions {
  readonly database: Database<Proxy>;
  readonly kinds: readonly Kind[];
  readonly sources: readonly DirectorySource[];
  readonly problems: () => readonly Problem[];
  readonly log: Logger;
}

/** Findings of one change that are logged one by one; of more, their number is. */
const findingsLogged = 20;

/** The client of the analysis's view, about which analysis asks nothing. */
const nobody = proxyFromNode({ id: "sidecar~0.0.0.0~analysis.istio-system~istio-system.svc.cluster.local" });

/** The findings about the mesh while istiod runs. New ones are logged with file and line. */
export function liveAnalysis({ log, ...options }: AnalysisOptions): LiveAnalysis<Proxy> {
  const analysis: LiveAnalysis<Proxy> = new LiveAnalysis({
    ...options,
    client: nobody,
    changed: (found, gone) => {
      const worst = [...found].sort((a, b) => severity(a) - severity(b)).slice(0, findingsLogged);
      void analysis.place(worst).then((messages) => messages.forEach((message) => logMessage(log, message)));
      if (found.length > findingsLogged) log.warn({ findings: found.length - findingsLogged }, "more findings, run istiod analyze");
      for (const { code, origin, message } of gone.slice(0, findingsLogged)) log.info({ code, object: formatOrigin(origin) }, `resolved: ${message}`);
    },
  });
  return analysis;
}

function severity({ code }: Finding): number {
  return levels.indexOf(messageTypes[code].level);
}

function logMessage(log: Logger, { level, code, origin, reference, message }: Message): void {
  const at = { code, ...(origin && { object: origin }), ...(reference && { reference }) };
  log[level === "Error" ? "error" : level === "Warning" ? "warn" : "info"](at, message);
}
