import { type Finding, formatOrigin, isAtLeast, levelOf, type LiveAnalysis } from "@istiod/analysis";
import { formatPath } from "@istiod/config-schema";
import { type Clock, monotonicClock } from "@istiod/runtime";
import type { AcceptedObject, ValidationOptions } from "@istiod/validation";

export interface AddedWarningsOptions {
  readonly analysis: Pick<LiveAnalysis<never>, "findingsAddedBy">;
  /** Revision of this control plane. Objects of others are not read. */
  readonly revision: string;
  /** Receives failures of the analysis. The object has no further warnings then. */
  readonly onError: (error: unknown) => void;
  readonly clock?: Pick<Clock, "now">;
}

/** Milliseconds for the analysis of one object, including the time that it waits for others. */
const limitMs = 100;
/** Milliseconds without a turn of the event loop after which the mesh counts as too large. */
const maxPreparedMs = 40;
/** Milliseconds for which a mesh that was too large is not asked again. */
const restMs = 10_000;
const maxListed = 20;
/** Findings of what the object alone shows, which validation says by itself. */
const saidByValidation: ReadonlySet<string> = new Set(["IST0133", "MESH0002"]);

/**
 * Returns the warnings about findings that an object adds to those of the mesh, about itself and about other objects.
 * Objects are analyzed one after the other, in slices; where that takes too long, there are fewer warnings, or none.
 */
export function addedWarnings({
  analysis,
  revision,
  onError,
  clock = monotonicClock,
}: AddedWarningsOptions): NonNullable<ValidationOptions["furtherWarnings"]> {
  let last: Promise<unknown> = Promise.resolve();
  let restsUntil = -Infinity;
  const analyze = async (accepted: AcceptedObject, deadline: number): Promise<readonly Finding[]> => {
    const withinMs = deadline - clock.now();
    if (withinMs <= 0 || clock.now() < restsUntil) return [];
    const { kind, key, object } = accepted;
    const added = await analysis.findingsAddedBy({ collection: kind.collection, key, object }, withinMs);
    if (added !== undefined && added.preparedMs > maxPreparedMs) restsUntil = clock.now() + restMs;
    return added?.findings ?? [];
  };
  return async (accepted, warnings) => {
    if ((accepted.object.labels["istio.io/rev"] ?? revision) !== revision) return [];
    const deadline = clock.now() + limitMs;
    const result = last.then(() => analyze(accepted, deadline));
    last = result.catch(onError);
    return listed(accepted, await result, new Set(warnings));
  };
}

function listed(
  { kind, key }: AcceptedObject,
  findings: readonly Finding[],
  known: ReadonlySet<string>,
): readonly string[] {
  const isOwn = ({ origin }: Finding): boolean =>
    origin.kind === kind.kind && origin.group === kind.group && origin.key === key;
  const texts = findings
    .filter(
      (finding) => isAtLeast(levelOf(finding), "Warning") && !(isOwn(finding) && saidByValidation.has(finding.code)),
    )
    .map((finding) => ({ code: finding.code, text: describe(finding, isOwn(finding)) }))
    .filter(({ text }) => !known.has(text));
  const shown = texts.slice(0, maxListed).map(({ code, text }) => `${text} [${code}]`);
  return texts.length > maxListed ? [...shown, `and ${texts.length - maxListed} more: run istiod analyze`] : shown;
}

function describe(finding: Finding, isOwn: boolean): string {
  const field = formatPath(finding.path);
  const parts = [isOwn ? "" : formatOrigin(finding.origin), field, finding.message];
  return parts.filter((part) => part !== "").join(": ");
}
