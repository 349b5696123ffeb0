import type { Source } from "@istiod/config-ingestion";
import { allKinds } from "@istiod/config-schema";
import type { ObjectName } from "@istiod/push-report";
import { reasonOf } from "@istiod/runtime";

/** A source that has another version of an object than istiod, or may have one. */
export interface UnreadVersion {
  /** Name of the source, for example `cluster Kubernetes`. */
  readonly source: string;
  /** Set if the source could not be asked. */
  readonly error?: string;
}

/** Asks all sources for the latest version of an object, and returns those from which istiod has not read it. */
export async function unreadVersions(sources: readonly Source[], name: ObjectName): Promise<readonly UnreadVersion[]> {
  const kinds = allKinds.filter(({ kind }) => kind === name.kind);
  const unread = sources.map(async (source): Promise<readonly UnreadVersion[]> => {
    const { name: sourceName = "a source" } = source;
    try {
      const current = await Promise.all(kinds.map((kind) => source.isCurrent?.(kind, name) ?? true));
      return current.every(Boolean) ? [] : [{ source: sourceName }];
    } catch (error) {
      return [{ source: sourceName, error: reasonOf(error) }];
    }
  });
  return (await Promise.all(unread)).flat();
}

/** Returns why a source does not read objects of a kind, as a clause; undefined if none says so. */
export function reasonUnread(sources: readonly Source[], name: string): string | undefined {
  const kinds = allKinds.filter(({ kind }) => kind === name);
  return kinds.flatMap((kind) => sources.flatMap((source) => source.reasonUnread?.(kind) ?? []))[0];
}
