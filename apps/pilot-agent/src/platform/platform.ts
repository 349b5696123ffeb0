import type { Locality } from "../node/locality.js";

/** A machine in a cloud (pkg/bootstrap/platform). */
export interface Platform {
  /** Entries of the node's `PLATFORM_METADATA`. Unknown ones are absent. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Empty if it is unknown. */
  readonly locality: Locality;
}

/** Returns an object without empty texts. */
export function known(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const entries = Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return Object.fromEntries(entries);
}
