import type { ConfigObject, Kind } from "@istiod/config-schema";
import type { StoredVersion, StoredVersions } from "./stored-versions.js";

/** A definition of an object: accepted, or rejected, with what applies instead if there is no good version. */
export interface DecidedDefinition<T> {
  readonly object: T | undefined;
  readonly substitute?: ConfigObject<unknown, unknown>;
}

export interface Decision<T> {
  readonly active: T | ConfigObject<unknown, unknown> | undefined;
  /** The last good version: the last one that applied as the first definition. */
  readonly lastGood: T | undefined;
  /** The object that applies in addition, because the first definition is rejected and has no good version. */
  readonly substitute: ConfigObject<unknown, unknown> | undefined;
  /** The stored version that is active because the first definition is rejected. */
  readonly stored: StoredVersion | undefined;
}

/**
 * Decides what applies of an object: the first definition; if that is rejected, the last good version; without one, the
 * first accepted definition, and for kinds that restrict the substitute of the rejected one as well.
 *
 * @param stored what is stored of the object; undefined if nothing is stored for its kind
 */
export function decide<T>(
  kind: Kind,
  definitions: readonly DecidedDefinition<T>[],
  lastGood: T | undefined,
  stored: ReturnType<StoredVersions["lastGood"]> | undefined,
): Decision<T> {
  const [first] = definitions;
  const nothing = { substitute: undefined, stored: undefined };
  if (first === undefined) return { active: undefined, lastGood, ...nothing };
  if (first.object !== undefined) return { active: first.object, lastGood: first.object, ...nothing };
  if (typeof stored === "object") return { active: stored.object, lastGood, substitute: undefined, stored };
  const known = stored === "none" ? undefined : lastGood;
  const accepted = definitions.find(({ object }) => object !== undefined)?.object;
  return {
    active: known ?? accepted,
    lastGood: known ?? (kind.failClosed === undefined ? accepted : undefined),
    substitute: kind.failClosed !== undefined && known === undefined ? first.substitute : undefined,
    stored: undefined,
  };
}
