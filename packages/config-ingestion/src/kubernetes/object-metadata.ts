import type { ObjectVersion } from "./cluster-reader.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Metadata of an object as the API server has it, for writers. It is kept apart from the database, so that changes of
 * it affect no proxy.
 */
export interface ObjectMetadata {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Undefined for types without generations. */
  readonly generation?: number;
  /** All labels. This and the fields below are kept of kinds that are read for writing. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly Fields[];
  readonly finalizers?: readonly string[];
  /** The status as observed. */
  readonly status?: unknown;
}

/** Returns the metadata of an object that an API server reported. */
export function metadataOf({ uid, resourceVersion, object }: ObjectVersion, forWriting: boolean): ObjectMetadata {
  const metadata = (object["metadata"] ?? {}) as Fields;
  const generation = metadata["generation"];
  const version = { uid, resourceVersion, ...(typeof generation === "number" && { generation }) };
  if (!forWriting) return version;
  return {
    ...version,
    labels: (metadata["labels"] ?? {}) as Readonly<Record<string, string>>,
    ownerReferences: (metadata["ownerReferences"] ?? []) as readonly Fields[],
    finalizers: (metadata["finalizers"] ?? []) as readonly string[],
    ...(object["status"] !== undefined && { status: object["status"] }),
  };
}
