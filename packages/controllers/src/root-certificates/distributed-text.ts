import { collection, type Collection, type Database } from "@istiod/incremental";

/** A text that every namespace receives, such as root certificates in PEM. */
export interface DistributedText {
  /** Returns the text; undefined while it is not known. An empty text replaces that of ConfigMaps that exist. */
  current(): string | undefined;
  /** Calls a listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

/** A key of a ConfigMap that has a text in every namespace. */
export interface DistributedKey {
  readonly configMap: string;
  readonly key: string;
  readonly text: DistributedText;
}

/** The texts as an input, by the names of their ConfigMaps. */
export const distributedTexts: Collection<string> = collection<string>("DistributedTexts");

/** Commits the text of a ConfigMap now and after each change. Returns a function that ends this. */
export function followText({ configMap, text }: DistributedKey, database: Pick<Database<void>, "commit">): () => void {
  const commit = (): void =>
    void database.commit((tx) => {
      const current = text.current();
      if (current !== undefined) tx.set(distributedTexts, configMap, current);
    });
  commit();
  return text.onChange(commit);
}
