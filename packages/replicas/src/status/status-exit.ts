import { kubernetesKinds } from "@istiod/config-schema";
import { isGone, isIneffective, isLive } from "@istiod/push-report";
import { incompleteExit } from "../format.js";
import type { ControlPlaneStatus } from "./join-status.js";
import type { AnnotatedStatus } from "./status-answer.js";

/** Exit statuses of `istiod status` by meaning. */
export const statusExits = {
  live: 0,
  /** Not live on all proxies yet; with `--wait`, the timeout expired. */
  notLive: 1,
  /** The command line is invalid, or no replica answers. */
  failed: 2,
  /** An object is rejected by its source or by a proxy. Waiting does not help. */
  rejected: 3,
  /** An object is accepted, but has no effect or an unresolved reference. Waiting does not help. */
  ineffective: 4,
  /** A replica does not answer, so it is unknown whether the objects are live on its proxies. */
  incomplete: incompleteExit,
} as const;

/**
 * Returns the exit status for the statuses of objects, for use in pipelines.
 *
 * @param asked The named objects. If empty, all changed objects count, deleted ones must be gone, and all problems of
 *   the sources count.
 * @param goal `live` on all proxies, or `gone` from all proxies.
 */
export function statusExit(status: ControlPlaneStatus, asked: readonly string[], goal = "live"): number {
  const { replicas, failures, silent } = status;
  if (replicas.length === 0) return statusExits.failed;
  const exit = exitOfAnswers(status, asked, goal);
  const isComplete = failures.length + silent.length === 0;
  // Another replica cannot change that a proxy or a source rejects an object.
  if (isComplete || exit === statusExits.rejected) return exit;
  return statusExits.incomplete;
}

function exitOfAnswers(status: ControlPlaneStatus, asked: readonly string[], goal: string): number {
  const { objects, problems, gathering } = status;
  // The rest of the answers refers to an older version.
  if (objects.some(({ unread }) => unread.length > 0)) return statusExits.notLive;
  const concerns = (object: string): boolean => asked.length === 0 || asked.includes(object);
  const isRejected = problems.some(({ object, severity }) => severity === "error" && concerns(object));
  if (isRejected || objects.some(({ rejected }) => rejected > 0)) return statusExits.rejected;
  const isSupporting = ({ object: { kind } }: AnnotatedStatus): boolean =>
    asked.length === 0 && supportingKinds.has(kind);
  const counted = objects.filter((each) => !isSupporting(each) || !isIneffective(each));
  if (goal === "live" && (counted.some(isIneffective) || leadsNowhere(status))) return statusExits.ineffective;
  const isDone = (each: AnnotatedStatus): boolean =>
    goal === "gone" || (asked.length === 0 && !each.found) ? isGone(each) : isLive(each);
  return !gathering && counted.every(isDone) ? statusExits.live : statusExits.notLive;
}

/** Kinds whose objects often affect no proxy by themselves, such as ServiceAccount. */
const supportingKinds: ReadonlySet<string> = new Set(kubernetesKinds.map(({ kind }) => kind));

function leadsNowhere({ objects, newFindings }: ControlPlaneStatus): boolean {
  return objects.some(hasErrors) || hasErrors({ findings: newFindings });
}

/** Reports whether a finding says that the object does not work. */
export function hasErrors({ findings }: Pick<AnnotatedStatus, "findings">): boolean {
  return findings.some(({ level }) => level === "Error");
}
