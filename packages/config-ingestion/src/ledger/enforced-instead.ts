import { type ConfigObject, type Kind, type LocatedObject, type Problem, subjectOf } from "@istiod/config-schema";
import type { StoredVersion } from "./stored-versions.js";

/** A rejected object of a kind that restricts, with what applies instead. */
export interface RejectedRecord {
  readonly kind: Kind;
  readonly key: string;
  readonly first: LocatedObject;
  readonly record: {
    readonly stored: StoredVersion | undefined;
    readonly substitute: ConfigObject<unknown, unknown> | undefined;
  };
}

/** Returns the problem that says what applies instead of a rejected object; none if its last good version does. */
export function enforcedInstead({ kind, key, first, record }: RejectedRecord): readonly Problem[] {
  const { file, line } = first;
  const problem = { severity: "error" as const, file, line, subject: subjectOf(kind, key), path: [] };
  if (record.stored !== undefined) {
    const message = `is rejected; its last good version, ${record.stored.version}, is active`;
    return [{ ...problem, code: "stored-version", message }];
  }
  if (record.substitute === undefined || kind.failClosed === undefined) return [];
  const message = `is rejected and has no last good version, so it fails closed: ${kind.failClosed.effect} for ${selectionOf(record.substitute)}`;
  return [{ ...problem, code: "fails-closed", message }];
}

/** Describes the workloads that a substitute selects. */
function selectionOf({ namespace, spec }: ConfigObject<unknown, unknown>): string {
  const { selector, workloadSelector, targetRef, targetRefs = [] } = spec as Selecting;
  const labels = Object.entries(selector?.matchLabels ?? workloadSelector?.labels ?? {});
  const targets = [...targetRefs, ...(targetRef === undefined ? [] : [targetRef])];
  if (targets.length > 0)
    return `${targets.map(({ kind, name }) => `${kind} ${name}`).join(", ")} in namespace ${namespace}`;
  const workloads =
    labels.length === 0 ? "all workloads" : `workloads with ${labels.map((pair) => pair.join("=")).join(",")}`;
  return `${workloads} in namespace ${namespace}, or in the mesh if that is the root namespace`;
}

/** The fields by which specs of restricting kinds select workloads. */
interface Selecting {
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly workloadSelector?: { readonly labels: Readonly<Record<string, string>> };
  readonly targetRef?: { readonly kind: string; readonly name: string };
  readonly targetRefs?: readonly { readonly kind: string; readonly name: string }[];
}
