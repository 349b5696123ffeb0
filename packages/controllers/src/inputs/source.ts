import { type Collection, collection } from "@istiod/incremental";
import type { Database } from "@istiod/incremental";

/** A value from outside the API server that a controller depends on, and its changes. */
export interface Source<T> {
  /** Returns the value; undefined while it is not known. */
  current(): T | undefined;
  /** Calls a listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

/** An input with the value of a source. */
export interface SourceInput<T extends object> {
  /** Has the value by the empty key. */
  readonly collection: Collection<{ readonly value: T }>;
  /** Commits the value, and keeps it current. Returns a function that ends this. */
  readonly follow: (database: Pick<Database<void>, "commit">) => () => void;
}

/** Returns a source as an input of a controller's queries. */
export function sourceInput<T extends object>(name: string, source: Source<T>): SourceInput<T> {
  const of = collection<{ readonly value: T }>(name);
  const follow = (database: Pick<Database<void>, "commit">): (() => void) => {
    const commit = (): void =>
      void database.commit((tx) => {
        const value = source.current();
        if (value === undefined) tx.delete(of, "");
        else tx.set(of, "", { value });
      });
    commit();
    return source.onChange(commit);
  };
  return { collection: of, follow };
}
