import { collection, type Collection, type Database } from "@istiod/incremental";

/** The root certificates of the mesh. */
export interface RootCertificates {
  /** Returns the certificates in PEM; empty while they are not known. */
  current(): string;
  /** Calls a listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

/** The root certificates as an input, by an empty key. */
export const rootCertificateInput: Collection<string> = collection<string>("RootCertificates");

/** Commits the root certificates now and after each change. Returns a function that ends this. */
export function followRootCertificates(roots: RootCertificates, database: Pick<Database<void>, "commit">): () => void {
  const commit = (): void =>
    void database.commit((tx) => {
      // An empty bundle would break every workload that trusts it.
      if (roots.current() !== "") tx.set(rootCertificateInput, "", roots.current());
    });
  commit();
  return roots.onChange(commit);
}
