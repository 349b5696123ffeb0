import type { LiveAnalysis } from "@istiod/analysis";
import { formatProblem, type Problem } from "@istiod/config-ingestion";
import { type ChangeLog, formatName, type ObjectName, type ObjectStatus, parseName, Statuses, type StatusSources } from "@istiod/push-report";
import type { Proxy } from "@istiod/push-context";
import { type DebugAnswer, type DebugCommand, type DebugRequest, refuse } from "./command.js";

export interface ChangeCommandsOptions {
  readonly changes: ChangeLog;
  readonly status: StatusSources<Proxy>;
  readonly problems: () => readonly Problem[];
  readonly analysis: Pick<LiveAnalysis<Proxy>, "messages">;
  /** Whether something changed that is not committed yet. */
  readonly gathering: () => boolean;
}

/** What `/debug/status` gives, and `istiod status` reads. */
export interface StatusAnswer {
  readonly revision: number;
  /** A change is being gathered that these objects do not show yet. */
  readonly gathering: boolean;
  readonly objects: readonly ObjectStatus[];
  /** What is set aside or warned of in the sources: of the objects asked for, or all. */
  readonly problems: readonly { readonly object: string; readonly severity: "error" | "warning"; readonly text: string }[];
}

/** Debug endpoints about changes: what became of them, and on how many proxies an object is live. */
export function changeCommands({ changes, status, problems, analysis, gathering }: ChangeCommandsOptions): readonly DebugCommand[] {
  const statuses = new Statuses(status);
  return [
    {
      name: "changes",
      about: "What became of the last changes: proxies touched, bytes, time to acknowledgement; ?revision=",
      answer: ({ query }) => {
        const revision = query.get("revision");
        if (revision === null) return { json: changes.reports() };
        const report = changes.report(Number(revision));
        return report === undefined ? refuse(404, `no change of revision ${revision} is remembered`) : { json: report };
      },
    },
    {
      name: "analyze",
      about: "Findings about the configuration, as istiod analyze -o json prints them",
      answer: async () => ({ json: await analysis.messages() }),
    },
    {
      name: "status",
      about: "On how many of the proxies that they reach objects are live: ?object=KIND/NAMESPACE/NAME, or those that changed last",
      answer: async ({ query }: DebugRequest): Promise<DebugAnswer> => {
        const asked = query.getAll("object").flatMap((names) => names.split(",")).filter((name) => name !== "");
        let names: readonly ObjectName[];
        try {
          names = asked.length > 0 ? asked.map(parseName) : changes.recentObjects().filter((name) => isOfAKind(name));
        } catch (error) {
          return refuse(400, (error as Error).message);
        }
        const objects = await statuses.of(names);
        const about = new Set(asked.length > 0 ? names.map(formatName) : []);
        const json: StatusAnswer = {
          revision: status.database.revision,
          gathering: gathering(),
          objects,
          problems: problems()
            .map((problem) => ({ object: problem.subject ? formatName(problem.subject) : "", severity: problem.severity, text: formatProblem(problem) }))
            .filter(({ object }) => about.size === 0 || about.has(object)),
        };
        return { json };
      },
    },
  ];
}

function isOfAKind(name: ObjectName): boolean {
  try {
    parseName(formatName(name));
    return true;
  } catch {
    return false;
  }
}
