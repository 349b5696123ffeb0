import type { LiveAnalysis } from "@istiod/analysis";
import type { Problem } from "@istiod/config-schema";
import { type ChangeLog, type ObjectName, parseName, StatusCache, type StatusSources } from "@istiod/push-report";
import type { Proxy } from "@istiod/push-context";
import { type DebugAnswer, type DebugCommand, type DebugRequest, textAnswer } from "./command.js";
import { changedObjects, kindsWithoutEffect, statusAnswer } from "./status-answer.js";

export interface ChangeCommandsOptions {
  readonly changes: ChangeLog;
  readonly status: Omit<StatusSources<Proxy>, "kindsWithoutEffect">;
  readonly problems: () => readonly Problem[];
  readonly analysis: Pick<LiveAnalysis<Proxy>, "messages" | "findings" | "newFindings" | "place">;
  /** Reports whether a change is not committed yet. */
  readonly gathering: () => boolean;
}

/** Returns the commands about changes, their pushes, and the proxies on which an object is live. */
export function changeCommands({
  changes,
  status,
  problems,
  analysis,
  gathering,
}: ChangeCommandsOptions): readonly DebugCommand[] {
  const statuses = new StatusCache({ ...status, kindsWithoutEffect });
  return [
    {
      name: "changes",
      about: "Pushes of recent changes: affected proxies, bytes, time to acknowledgement; ?revision=",
      answer: ({ query }) => {
        const revision = query.get("revision");
        if (revision === null) return { json: changes.reports() };
        const report = changes.report(Number(revision));
        return report === undefined
          ? textAnswer(404, `no change of revision ${revision} is remembered`)
          : { json: report };
      },
    },
    {
      name: "analyze",
      about: "Findings about the configuration, as istiod analyze -o json prints them",
      answer: async () => ({ json: await analysis.messages() }),
    },
    {
      name: "status",
      about:
        "On how many of the proxies that they reach objects are live: ?object=KIND/NAMESPACE/NAME, or those that changed last",
      answer: async ({ query }: DebugRequest): Promise<DebugAnswer> => {
        const asked = query
          .getAll("object")
          .flatMap((names) => names.split(","))
          .filter((name) => name !== "");
        let names: readonly ObjectName[];
        try {
          names = asked.length > 0 ? asked.map(parseName) : changedObjects(changes);
        } catch (error) {
          return textAnswer(400, (error as Error).message);
        }
        const objects = await statuses.statusesOf(names);
        return {
          json: await statusAnswer({
            revision: status.database.revision,
            gathering: gathering(),
            objects,
            problems: problems(),
            analysis,
            isAboutAll: asked.length === 0,
          }),
        };
      },
    },
  ];
}
