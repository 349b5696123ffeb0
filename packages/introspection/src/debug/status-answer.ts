import {
  type Finding,
  isAtLeast,
  kindsThatMayLackEffect,
  levelOf,
  levels,
  type LiveAnalysis,
  type Message,
} from "@istiod/analysis";
import { allKinds, formatProblem, type Problem } from "@istiod/config-schema";
import type { OmittedPart, PatchStatus } from "@istiod/explain";
import type { Proxy } from "@istiod/push-context";
import type { AppliedPatch, StatusAnswer } from "@istiod/replicas";
import type { UnreadVersion } from "../status/unread-versions.js";
import { type ChangeLog, formatName, type ObjectName, type ObjectStatus } from "@istiod/push-report";

const newFindingsNamed = 20;

function appliedPatches(patches: readonly PatchStatus[], { namespace, name }: ObjectName): readonly AppliedPatch[] {
  return patches
    .filter(({ filter, resources }) => filter === `${namespace}/${name}` && resources > 0)
    .map(({ index, resources, proxies }) => ({ index, resources, proxies }));
}

/** Returns the last changed objects of kinds that istiod reads, or could be expected to read, for proxies. */
export function changedObjects(changes: Pick<ChangeLog, "recentObjects">): readonly ObjectName[] {
  const kinds = new Set([...allKinds, ...kindsThatMayLackEffect].map(({ kind }) => kind));
  return changes.recentObjects().filter(({ kind }) => kinds.has(kind));
}

interface StatusParts extends Pick<StatusAnswer, "revision" | "gathering" | "connections"> {
  readonly objects: readonly ObjectStatus[];
  readonly omitted: readonly OmittedPart[];
  readonly patches: readonly PatchStatus[];
  /** By the names of objects. */
  readonly unread: ReadonlyMap<string, readonly UnreadVersion[]>;
  readonly problems: readonly Problem[];
  readonly analysis: Pick<LiveAnalysis<Proxy>, "findings" | "newFindings" | "place">;
  /** Set if no object is requested by name. */
  readonly isAboutAll: boolean;
}

export async function statusAnswer({
  revision,
  gathering,
  objects,
  omitted,
  patches,
  unread,
  problems,
  analysis,
  isAboutAll,
  connections,
}: StatusParts): Promise<StatusAnswer> {
  const names = new Set(objects.map(({ object }) => formatName(object)));
  const isAbout = ({ origin }: Finding): boolean => names.has(formatName(origin));
  const about = (await analysis.findings()).filter(isAbout);
  const added = isAboutAll
    ? (await analysis.newFindings()).filter((finding) => !isAbout(finding) && isAtLeast(levelOf(finding), "Warning"))
    : [];
  const worstFirst = [...added].sort((a, b) => levels.indexOf(levelOf(a)) - levels.indexOf(levelOf(b)));
  const byName = new Map<string, Message[]>();
  for (const [i, message] of (await analysis.place(about)).entries()) {
    const { origin } = about[i] as Finding;
    byName.set(formatName(origin), [...(byName.get(formatName(origin)) ?? []), message]);
  }
  return {
    revision,
    gathering,
    objects: objects.map((status) => {
      const name = formatName(status.object);
      const lacked = omitted
        .filter((part) => formatName(part) === name)
        .map(({ field, reason, proxies, proxy }) => ({ field, reason, proxies, proxy }));
      return {
        ...status,
        findings: byName.get(name) ?? [],
        omitted: lacked,
        ...(status.object.kind === "EnvoyFilter" && { patches: appliedPatches(patches, status.object) }),
        unread: unread.get(name) ?? [],
      };
    }),
    problems: problems
      .map((problem) => ({
        object: problem.subject ? formatName(problem.subject) : "",
        severity: problem.severity,
        text: formatProblem(problem),
      }))
      .filter(({ object }) => isAboutAll || names.has(object)),
    newFindings: await analysis.place(worstFirst.slice(0, newFindingsNamed)),
    moreFindings: Math.max(0, added.length - newFindingsNamed),
    ...(connections && { connections }),
  };
}
