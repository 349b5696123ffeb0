import { allKinds, analysisKinds, type Problem, subjectOf } from "@istiod/config-schema";
import type { SharedEntry, Owner } from "./ownership.js";
import type { TrackedProblem } from "./problem-tracker.js";
import type { Source } from "./source.js";
import { formatSyncState, type SyncState } from "./sync-state.js";

const kindOf = new Map([...allKinds, ...analysisKinds].map((kind) => [kind.collection as unknown, kind]));

/**
 * Returns the problem of a source that is not current; none if it is, or is still syncing. It is the same problem until
 * the state or the kind of its reason changes.
 */
export function syncProblems(source: Source, sync: SyncState): readonly TrackedProblem[] {
  if (sync.state === "synced" || sync.state === "syncing") return [];
  const { state, reason, reasonKind = reason } = sync;
  return [
    {
      subject: source,
      version: `${state} ${reasonKind}`,
      problem: { severity: "error", file: nameOf(source), line: 0, path: [], message: formatSyncState(sync) },
    },
  ];
}

/** Returns the problems of objects that several sources define. */
export function conflicts<O extends Owner & { readonly source: Source }>(
  shared: readonly SharedEntry<O>[],
): readonly Problem[] {
  return shared.flatMap(({ collection, key, owners: [first, ...others] }): readonly Problem[] => {
    const kind = kindOf.get(collection);
    if (kind === undefined || first === undefined) return [];
    const place = first.source.locate?.(kind, key);
    const counts =
      place === undefined ? nameOf(first.source) : place.line === 0 ? place.file : `${place.file}:${place.line}`;
    return others.map(({ source }) => {
      const { file, line } = source.locate?.(kind, key) ?? { file: nameOf(source), line: 0 };
      const message = `is also defined at ${counts}, which counts; expected it to be defined once`;
      return { severity: "error", file, line, subject: subjectOf(kind, key), path: [], message };
    });
  });
}

function nameOf({ name, cluster }: Source): string {
  return name ?? (cluster === undefined ? "source" : `cluster ${cluster}`);
}
