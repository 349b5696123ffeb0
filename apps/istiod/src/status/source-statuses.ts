import { DirectorySource, type Source, type SourceState } from "@istiod/config-ingestion";
import { formatProblem, type Problem } from "@istiod/config-schema";
import type { SourceStatus } from "@istiod/status-page";

/**
 * Returns the state of each source. A source with a file that cannot be read is stale; one with a rejected document is
 * not.
 */
export function sourceStatuses(
  named: ReadonlyMap<Source, Pick<SourceStatus, "name" | "location">>,
  states: readonly SourceState[],
): readonly SourceStatus[] {
  return states.flatMap(({ source, changed, problems }): readonly SourceStatus[] => {
    const described = named.get(source);
    if (described === undefined) return [];
    const isWhole = ({ severity, line }: Problem): boolean =>
      severity === "error" && (line === 0 || !(source instanceof DirectorySource));
    const reasons = problems.filter(isWhole).map(formatProblem);
    return [{ ...described, state: reasons.length > 0 ? "stale" : changed ? "reading" : "current", reasons }];
  });
}
