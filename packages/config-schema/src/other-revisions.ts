import { type Collection, collection } from "@istiod/incremental";
import { record } from "./decoding/json.js";
import { istioKinds } from "./kinds/all-kinds.js";
import type { Kind } from "./kinds/kind.js";

/** The label of the only revision of control planes that reads an object of Istio's kinds. */
export const revisionLabel = "istio.io/rev";

/** An object that is not read, because it belongs to another revision of the control plane. Its content is not kept. */
export interface ObjectOfOtherRevision {
  readonly namespace: string;
  readonly name: string;
  /** The revision that the object belongs to. */
  readonly revision: string;
  /** The revision of this control plane. */
  readonly own: string;
}

/** For each of Istio's kinds the objects of other revisions, by the keys of the kind's collection. */
export const otherRevisions: ReadonlyMap<Kind, Collection<ObjectOfOtherRevision>> = new Map(
  istioKinds.map((kind) => [kind, collection<ObjectOfOtherRevision>(`${kind.kind} of another revision`)]),
);

/**
 * Returns the revision that an object belongs to, if it is not that of this control plane; undefined if this one reads
 * the object.
 *
 * @param own revision of this control plane; undefined or empty: it reads the objects of all
 */
export function otherRevisionOf(
  kind: Kind,
  body: Readonly<Record<string, unknown>>,
  own: string | undefined,
): string | undefined {
  if (!own || !otherRevisions.has(kind)) return undefined;
  const revision = record(record(body["metadata"])?.["labels"])?.[revisionLabel];
  return typeof revision === "string" && revision !== own ? revision : undefined;
}

/** Formats why an object of another revision is not read, as a clause. */
export function formatOtherRevision({ revision, own }: ObjectOfOtherRevision): string {
  return `belongs to revision ${JSON.stringify(revision)} (label ${revisionLabel}), and this istiod is revision ${JSON.stringify(own)}`;
}
